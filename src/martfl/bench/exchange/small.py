"""Small coins, strange tokens, false files and messages from elsewhere; and the draw of sampled markets."""

from contextlib import suppress
from pathlib import Path

from eth_utils.address import to_checksum_address
from web3.contract import Contract

from martfl.bench.exchange.play import PlayOutcome, of_acquirer, strategy
from martfl.bench.exchange.world import ASK, MONEY, RogueEpoch, World, first_file, open_world
from martfl.chain.compile import compiled
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import RevertedError
from martfl.chain.sampled import SampledTrading
from martfl.chain.signing import sign_claim
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.settling import Share
from martfl.settlement.integer_file import from_bytes, to_bytes

NOBODY = "0x" + "00" * 20
SAMPLED = {"settlement": {"scheme": "sampled", "setup": "alone", "samples": 8, "providers": 4}}


@strategy("a reward of 60,000 units")
def small_reward() -> PlayOutcome:
    """Products before quotients: sellers of a small reward are paid their asks and their parts."""
    money = {"reward": 60_000, "ask": 100, "minimum_deposit": 1}
    with open_world(terms={"money": money}) as world:
        world.acquirer().run(1)
        world.settle_all()
        paid = [world.income([seller.account.address]) for seller in world.honest]
        return PlayOutcome(gain=0, short=max(0, *(100 - amount for amount in paid)))


# --- tokens ----------------------------------------------------------------------------------------------------------


def _token(chain: EmbeddedChain, *, percent: int, refused: str) -> Contract:
    code = compiled("hostile_token", sources=Path(__file__).parent)
    factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
    made = chain.send(factory.constructor(10**30, percent, to_checksum_address(refused)), account=chain.accounts[0])
    token: Contract = chain.web3.eth.contract(address=to_checksum_address(str(made.contract)), abi=list(code.abi))
    return token


@strategy("a token that charges for transfers")
def charging_token() -> PlayOutcome:
    """It cannot be deposited, so that nobody can commit, let alone deliver."""
    with EmbeddedChain(None, accounts=3) as chain:
        token = _token(chain, percent=1, refused=NOBODY)
        with open_world(terms={"money": {**MONEY, "token": token.address}}, on=chain) as world:
            chain.send(token.functions.approve(world.trading.address, 10**30), account=world.buyer)
            with suppress(RevertedError):
                world.trading.new_epoch(amount=world.terms.money.deposit, account=world.buyer)
            return PlayOutcome(gain=0, short=len(world.epochs()) * ASK)


@strategy("a token that refuses a seller")
def refusing_token() -> PlayOutcome:
    """What it refuses stays claimable: the seller signs for another receiver, and is paid there."""
    with EmbeddedChain(None, accounts=4) as chain:
        victim = chain.accounts[1]
        token = _token(chain, percent=0, refused=victim.address)
        with open_world(honest=2, terms={"money": {**MONEY, "token": token.address}}, on=chain) as world:
            chain.send(token.functions.approve(world.trading.address, 10**30), account=world.buyer)
            epoch, shop = world.taken()
            epoch.steps.accept(shop, {})
            epoch.publish_nobody()
            other = chain.accounts[3].address
            elsewhere = sign_claim(
                victim, chain_id=chain.chain_id, market=world.trading.address, epoch=epoch.number, receiver=other
            )
            world.trading.claim_rewards(epoch.number, payees=[elsewhere], account=world.buyer)
            paid = token.functions.balanceOf(other).call()
            return PlayOutcome(gain=0, short=max(0, shop.price(victim.address) - paid))


# --- messages and files ----------------------------------------------------------------------------------------------


@strategy("requests signed for another chain or another market")
def requests_from_elsewhere() -> PlayOutcome:
    with open_world(honest=1) as world:
        epoch, shop = world.begun()
        seller = world.honest[0]
        shop._fetch_sealed([seller.account.address])
        world.trading.buy(epoch.number, offers=list(shop.offers.values()), account=world.buyer)
        request = ms.KeyRequest(epoch=epoch.number, key=shop._sealing_key().public.hex())
        for place in (
            wire.MarketId(1, world.trading.address),
            wire.MarketId(world.chain.chain_id, seller.account.address),
        ):
            answer = seller.handle(wire.encode(request, market=place, account=world.buyer))
            message, _ = wire.decode(answer, market=seller.market)
            assert isinstance(message, ms.Refusal)
        return of_acquirer(world)


def _halves(world: World) -> tuple[RogueEpoch, dict[str, Share]]:
    """Two updates that were bought and read, at half the weight each."""
    epoch, shop = world.taken()
    return epoch, {name: Share(shop.here[name], 32_768) for name in sorted(world.names)}


@strategy("sampled: a false file for the sellers")
def false_file() -> PlayOutcome:
    """Their programs say so and go on: the prices are theirs whatever the file is."""
    with open_world(terms=SAMPLED) as world:
        epoch, shares = _halves(world)
        file = epoch.steps.publish(first_file(world), shares)
        vector = from_bytes(file, kind="model", parameters=world.settler.parameters)
        vector.values[0] += 1
        epoch.steps.hand_out(to_bytes(vector))
        return of_acquirer(world)


@strategy("sampled: the draw ground by publishing again and again")
def ground_draw() -> PlayOutcome:
    """One root, once: its draw comes from a later block, and a model that cannot be proved costs the penalty."""
    with open_world(terms=SAMPLED) as world:
        epoch, shares = _halves(world)
        listings = [share.listing() for share in shares.values()]
        chain = world.trading
        assert isinstance(chain, SampledTrading)
        published = 0
        for attempt in range(4):
            root = bytes([attempt]) * 32
            with suppress(RevertedError):
                chain.publish_model(epoch.number, content=root, root=root, listings=listings, account=world.buyer)
                published += 1
        outcome = of_acquirer(world)
        return PlayOutcome(gain=outcome.gain if published == 1 else ASK, short=outcome.short)
