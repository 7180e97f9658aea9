"""What an acquirer may try, alone or with wallets of its own among the sellers."""

import dataclasses
from contextlib import suppress

from eth_utils.crypto import keccak

from martfl.bench.exchange.play import PlayOutcome, of_acquirer, strategy
from martfl.bench.exchange.world import World, first_file, open_world
from martfl.chain.exact import ExactTrading
from martfl.chain.network import RevertedError, UnsignedCall
from martfl.chain.state import Listing, Offer
from martfl.market.purchases import Purchases
from martfl.market.settling import Share
from martfl.settlement.seal import new_secret

LATER = "a model that nobody made"


def _list_nobody(world: World) -> PlayOutcome:
    """Everything bought and read, and a model without anybody."""
    epoch, _ = world.taken()
    epoch.publish_nobody()
    return of_acquirer(world)


def _list_own_wallet(world: World) -> None:
    """Everything bought and read, and all weight to an own wallet that asks for nothing."""
    world.rogue(0, ask=0)
    epoch, shop = world.taken()
    own = world.others[0].address
    shop.buy([own])
    epoch.steps.publish(first_file(world), {own: Share(shop.here[own], 65_536)})


def _offers(world: World, shop: Purchases) -> list[Offer]:
    return [shop.offers[name] for name in world.names]


@strategy("keys taken and nobody listed in the last block")
def nobody_in_the_last_block() -> PlayOutcome:
    with open_world() as world:
        epoch, _ = world.taken()
        epoch.act.clock.wait_until(world.trading.deadlines(epoch.number).publish - 1)
        epoch.publish_nobody()
        return of_acquirer(world)


@strategy("vanish before the keys")
def vanish_before_keys() -> PlayOutcome:
    with open_world() as world:
        epoch, shop = world.begun()
        offers = _offers(world, shop)
        world.trading.buy(epoch.number, offers=offers, account=world.buyer)
        return of_acquirer(world)


@strategy("vanish after the keys")
def vanish_after_keys() -> PlayOutcome:
    with open_world() as world:
        world.taken()
        return of_acquirer(world)


@strategy("drop everybody: publish nobody")
def publish_nobody() -> PlayOutcome:
    with open_world() as world:
        return _list_nobody(world)


@strategy("never accept")
def never_accept() -> PlayOutcome:
    with open_world(others=1) as world:
        _list_own_wallet(world)
        return of_acquirer(world)


@strategy("buy in the last second")
def buy_in_the_last_second() -> PlayOutcome:
    with open_world() as world:
        epoch, shop = world.begun()
        offers = _offers(world, shop)
        epoch.act.clock.wait_until(world.trading.deadlines(epoch.number).buy - 1)
        world.trading.buy(epoch.number, offers=offers, account=world.buyer)
        return of_acquirer(world)


@strategy("dilution: own wallets take all weight")
def own_wallets_take_all_weight() -> PlayOutcome:
    with open_world(others=2) as world:
        for i in range(2):
            world.rogue(i, ask=0)
        epoch, shop = world.taken()
        own = [account.address for account in world.others]
        shop.buy(own)
        weights = dict(zip([*world.names, *own], [1, 1, 32_767, 32_767], strict=True))
        shares = {name: Share(shop.here[name], weight) for name, weight in sorted(weights.items())}
        epoch.steps.publish(first_file(world), shares)
        return of_acquirer(world)


@strategy("drop everybody: an own wallet of weight 1 keeps the epoch alive")
def own_wallet_keeps_it_alive() -> PlayOutcome:
    with open_world(others=1) as world:
        _list_own_wallet(world)
        world.take_refunds()
        return of_acquirer(world)


@strategy("drop everybody: let an unbought wallet take the reward")
def unbought_wallet_takes_the_reward() -> PlayOutcome:
    with open_world(others=1) as world:
        world.rogue(0, ask=0)
        return _list_nobody(world)


@strategy("look at all and weigh none")
def look_at_all_weigh_none() -> PlayOutcome:
    with open_world() as world:
        epoch, shop = world.taken()
        epoch.steps.accept(shop, {})
        epoch.publish_nobody()
        return of_acquirer(world)


def _twin(world: World, stolen: Offer) -> Offer:
    """A copy of another's commitment under an own wallet, sealed as nothing."""
    own = world.others[0].address
    return Offer(provider=own, commitment=stolen.commitment, root=bytes(32), key_hash=keccak(new_secret()), ask=0)


@strategy("twin commitment in the same epoch")
def twin_in_the_same_epoch() -> PlayOutcome:
    with open_world(others=1) as world:
        epoch = world.rogue_epoch()
        epoch.steps.relay(epoch.invited(first_file(world), world.names))
        # What is on chain is a digest bound to its wallet: the only thing there to copy.
        digest = world.trading.commitments(epoch.number)[world.names[0]]
        world.trading.commit_model(epoch.number, digest=digest, account=world.others[0])
        epoch.close()
        shop = epoch.shop()
        shop.buy(world.names)
        twin = dataclasses.replace(shop.offers[world.names[0]], provider=world.others[0].address)
        with suppress(RevertedError):  # the copy opens nothing under another wallet
            world.trading.buy(epoch.number, offers=[twin], account=world.buyer)
        epoch.publish_nobody()
        return of_acquirer(world)


@strategy("twin commitment in a later epoch")
def twin_in_a_later_epoch() -> PlayOutcome:
    with open_world(others=1) as world:
        first, offered = world.begun()
        stolen = offered.offers[world.names[0]]  # shown, not bought
        first.act.clock.wait_until(world.trading.deadlines(first.number).buy + 1)
        second = world.rogue_epoch()
        second.steps.relay(second.invited(first_file(world), world.names))
        twin = _twin(world, stolen)
        digest = twin.digest(chain_id=world.chain.chain_id, market=world.trading.address, epoch=second.number)
        world.trading.commit_model(second.number, digest=digest, account=world.others[0])
        second.close()
        shop = second.shop()
        shop.buy(world.names)
        world.trading.buy(second.number, offers=[twin], account=world.buyer)
        victim = shop.here[world.names[0]]
        listings = [Listing(offer=twin, weight=65_535), Listing(offer=victim.offer, weight=1)]
        chain = world.trading
        assert isinstance(chain, ExactTrading)
        chain.publish_model(
            second.number, content=keccak(text=LATER), blinding=0, listings=listings, account=world.buyer
        )
        return of_acquirer(world)


@strategy("refund before the key deadline")
def refund_before_keys() -> PlayOutcome:
    with open_world() as world:
        epoch, _ = world.taken()
        epoch.publish_nobody()
        with suppress(RevertedError):
            world.trading.claim_reward(epoch.number, account=world.buyer)
        return of_acquirer(world)


@strategy("purchases at price 0")
def purchases_at_price_zero() -> PlayOutcome:
    with open_world() as world:
        epoch, shop = world.begun()
        free = [dataclasses.replace(shop.offers[name], ask=0) for name in world.names]
        with suppress(RevertedError):
            world.trading.buy(epoch.number, offers=free, account=world.buyer)
        shop.fetch_keys(world.names)
        return of_acquirer(world)


@strategy("spend more than the reward")
def spend_more_than_the_reward() -> PlayOutcome:
    with open_world(others=1) as world:
        world.rogue(0, ask=world.terms.money.reward)
        epoch, shop = world.begun()
        own = world.others[0].address
        world.trading.buy(epoch.number, offers=[shop.offers[own]], account=world.buyer)
        with suppress(RevertedError):
            offers = _offers(world, shop)
            world.trading.buy(epoch.number, offers=offers, account=world.buyer)
        shop.fetch_keys(world.names)
        return of_acquirer(world)


@strategy("scalar bits that hide under the digest")
def scalar_bits() -> PlayOutcome:
    with open_world() as world:
        epoch, shop = world.taken()
        chain = world.trading
        assert isinstance(chain, ExactTrading)
        for bit in (17, 41, 128, 255):
            listings = [Listing(offer=shop.here[name].offer, weight=32_768 + (1 << bit)) for name in world.names]
            with suppress(RevertedError):
                chain.publish_model(epoch.number, content=bytes(32), blinding=0, listings=listings, account=world.buyer)
        epoch.publish_nobody()
        return of_acquirer(world)


@strategy("veto out of spite, and beyond the penalty")
def veto_out_of_spite() -> PlayOutcome:
    """There is no veto: whatever is called by that name reverts, and the sellers reveal and are paid."""
    with open_world() as world:
        epoch, _ = world.taken()
        for name in ("veto(uint256,address)", "drop(uint256,address[])"):
            data = keccak(text=name)[:4] + epoch.number.to_bytes(32, "big") + bytes(12)
            with suppress(RevertedError):
                world.chain._send(
                    UnsignedCall(to=world.trading.address, data=data, value=0), account=world.buyer, key=None
                )
        epoch.publish_nobody()
        return of_acquirer(world)


@strategy("the penalty dodged: everything undone in the last second")
def penalty_dodged() -> PlayOutcome:
    with open_world(others=1) as world:
        world.rogue(0, ask=0)
        epoch, _ = world.taken()
        epoch.act.clock.wait_until(world.trading.deadlines(epoch.number).publish)
        with suppress(RevertedError):
            epoch.publish_nobody()
        return of_acquirer(world)
