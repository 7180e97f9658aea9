"""What relays, block builders and tokens may try, and what a re-organised chain does."""

import dataclasses
from contextlib import suppress
from pathlib import Path

from eth_account.signers.local import LocalAccount
from web3.types import BlockIdentifier

from martfl.bench.exchange.play import PlayOutcome, of_acquirer, of_sellers, strategy
from martfl.bench.exchange.world import ASK, RogueEpoch, World, first_file, open_world
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import ChainError, Receipt, RevertedError, UnsignedCall
from martfl.chain.signing import sign_claim
from martfl.chain.state import SignedClaim, SignedCommit
from martfl.errors import MartflError
from martfl.market import guard
from martfl.market.provider import Provider

DEPTH = 3


class DeepChain(EmbeddedChain):
    """A chain whose latest blocks may still go away."""

    def deep_block(self) -> BlockIdentifier:
        return max(0, self.web3.eth.block_number - DEPTH)


class CensoredChain(EmbeddedChain):
    """A chain that keeps some wallets' transactions out until a second that the censor chooses."""

    def __init__(self, path: Path | None = None, accounts: int = 10) -> None:
        super().__init__(path, accounts=accounts)
        self.censored: dict[str, int] = {}

    def _send(self, call: UnsignedCall, *, account: LocalAccount, key: str | None) -> Receipt:
        if self.now() < self.censored.get(account.address, 0):
            raise ChainError("the transaction is not in the chain yet")
        return super()._send(call, account=account, key=key)


class Patient(Provider):
    """Tries again when the censor lets its transaction through; a real one tries all the time."""

    def watch(self) -> dict[int, int]:
        with suppress(ChainError):
            return super().watch()
        return {}

    def due(self) -> int | None:
        chain = self.trading.chain
        free = chain.censored.get(self.account.address, 0) if isinstance(chain, CensoredChain) else 0
        moments = [moment for moment in (free, super().due() or 0) if moment > chain.now()]
        return min(moments, default=None)


def _sold_to_all(world: World, epoch: RogueEpoch) -> PlayOutcome:
    """The commit window ends, everybody is in the chain and is bought."""
    epoch.close()
    assert len(world.trading.commitments(epoch.number)) == len(world.names)
    epoch.shop().buy(world.names)
    return of_acquirer(world)


@strategy("a relay that omits a commitment")
def relay_omits() -> PlayOutcome:
    """The seller sends its own when the margin begins, and is sold like the others."""
    with open_world() as world:
        epoch = world.rogue_epoch()
        epoch.invited(first_file(world), world.names)  # and nothing is relayed
        return _sold_to_all(world, epoch)


@strategy("a relay that replays, alters and front-runs commitments")
def relay_replays() -> PlayOutcome:
    with open_world(others=1) as world:
        epoch = world.rogue_epoch()
        invited = epoch.invited(first_file(world), world.names)
        good = [epoch.steps._signed(name) for name in invited.signed]
        entries = [entry for entry in good if entry is not None]
        altered = [dataclasses.replace(entry, digest=b"\1" * 32) for entry in entries]
        borrowed = [
            SignedCommit(provider=world.others[0].address, digest=e.digest, signature=e.signature) for e in entries
        ]
        batch = [*altered, *borrowed, *entries, *entries]
        world.trading.commit_models(epoch.number, entries=batch, account=world.others[0])
        assert len(world.trading.commitments(epoch.number)) == len(world.names)
        epoch.steps.relay(invited)
        return _sold_to_all(world, epoch)


@strategy("claims relayed to another address, and replayed")
def claims_replayed() -> PlayOutcome:
    with open_world(others=1) as world:
        world.acquirer().run(1)
        thief, victim = world.others[0], world.honest[0]
        chain_id, market = world.chain.chain_id, world.trading.address
        signed = sign_claim(thief, chain_id=chain_id, market=market, epoch=1, receiver=thief.address)
        stolen = SignedClaim(provider=victim.account.address, receiver=thief.address, signature=signed.signature)
        world.trading.claim_rewards(1, payees=[stolen, stolen], account=thief)
        with suppress(RevertedError):
            world.trading.claim_reward(1, account=thief)
        return of_sellers(world, fair=0)


@strategy("receivers that revert or burn gas")
def receivers_that_revert() -> PlayOutcome:
    """A batch of claims pays the others; who cannot be paid may claim again."""
    with open_world(others=1) as world:
        epoch, shop = world.taken()
        epoch.steps.accept(shop, {})
        epoch.publish_nobody()
        victim = world.honest[0].account
        chain_id, market = world.chain.chain_id, world.trading.address  # which takes no coins: paying it reverts
        bad = sign_claim(victim, chain_id=chain_id, market=market, epoch=epoch.number, receiver=market)
        payees = [bad, *(SignedClaim(provider=name) for name in world.names[1:])]
        world.trading.claim_rewards(epoch.number, payees=payees, account=world.others[0])
        return of_acquirer(world)


def _patient(world: World) -> Provider:
    """The first seller again, as one that tries until its transaction is in."""
    old = world.honest[0]
    old.journal.close()
    world.honest[0] = world.provider(0, old.account, kind=Patient)
    return world.honest[0]


def _censored(seconds: int) -> PlayOutcome:
    """The acquirer takes the keys, lists nobody, and keeps the sellers out of the chain from the margin on."""
    with open_world(honest=1, chain=CensoredChain) as world:
        chain = world.chain
        assert isinstance(chain, CensoredChain)
        seller = _patient(world)
        epoch, _ = world.taken()
        margin = world.trading.deadlines(epoch.number).keys - world.terms.deadlines.margin
        chain.censored[seller.account.address] = margin + seconds
        epoch.publish_nobody()
        return of_acquirer(world)


@strategy("censorship for the margin less one block")
def censorship_below_the_margin() -> PlayOutcome:
    return _censored(198)


@strategy(
    "censorship for the whole margin",
    limit="whoever keeps a seller out of the chain for the whole margin has its update for nothing: choose the margin",
)
def censorship_of_the_margin() -> PlayOutcome:
    return _censored(202)


# --- re-organisations ------------------------------------------------------------------------------------------------


def _ask_key(world: World, epoch: RogueEpoch, name: str) -> bool:
    """Whether the seller gave its key."""
    shop = epoch.shop()
    shop._fetch_sealed([name])
    before = world.chain.snapshot()
    world.trading.buy(epoch.number, offers=[shop.offers[name]], account=world.buyer)
    with suppress(MartflError):
        shop.fetch_keys([name])
    world.chain.revert(before)  # the purchase never was
    return name in shop.here


@strategy("a re-organisation that undoes a purchase")
def reorganised_purchase() -> PlayOutcome:
    """A key is given only for a purchase that is deep in the chain: the seller refuses, and nothing is read."""
    with open_world(honest=1, chain=DeepChain) as world:
        patience, guard.PATIENCE = guard.PATIENCE, 0.5
        try:
            epoch = world.rogue_epoch()
            epoch.begin(first_file(world))
            world.chain.travel(1)
            world.chain.travel(1)
            world.chain.travel(1)
            read = _ask_key(world, epoch, world.honest[0].account.address)
        finally:
            guard.PATIENCE = patience
        outcome = of_acquirer(world)
        return PlayOutcome(gain=outcome.gain if not read else ASK, short=outcome.short)


@strategy("a re-organisation that undoes a commitment")
def reorganised_commitment() -> PlayOutcome:
    """The seller looks at the chain again when the margin begins, and sends what is missing."""
    with open_world(honest=1) as world:
        epoch = world.rogue_epoch()
        invited = epoch.invited(first_file(world), world.names)
        before = world.chain.snapshot()
        epoch.steps.relay(invited)
        world.chain.revert(before)
        return _sold_to_all(world, epoch)


@strategy("a re-organisation that undoes a reveal")
def reorganised_reveal() -> PlayOutcome:
    with open_world(honest=1, chain=CensoredChain) as world:
        seller = _patient(world)
        epoch, _ = world.taken()
        epoch.publish_nobody()
        keys = world.trading.deadlines(epoch.number).keys
        epoch.act.clock.wait_until(keys - world.terms.deadlines.margin - 1)
        before = world.chain.snapshot()
        world.chain.travel_to(keys - world.terms.deadlines.margin + 1)
        seller.watch()
        world.chain.revert(before)
        return of_acquirer(world)
