"""The sampled scheme for worlds: roots, draws, delay function, openings and proofs are real."""

import functools
from dataclasses import dataclass, replace
from typing import Any

from book import FINAL, Page
from sampled_market import SampledMarket, keys, tree_shape
from world import World

from martfl.chain.sampled import proof_words, wide
from martfl.chain.state import Listing, Offer
from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled.keys import key_words
from martfl.settlement.sampled.sealed import check_sealed, find_false_leaf, refutation
from martfl.settlement.sampled.vdf import VdfProof

PROVING = ("published", "proved")


@dataclass
class Steps:
    """How far the proof of an epoch is."""

    number: int = 0  # block of publication
    drawn: bool = False
    output: VdfProof | None = None  # what was submitted
    right: bool = True  # whether it is the delay function's
    posted: bool = False
    lied_about: str = ""  # whose sampled values are posted wrongly


class SampledWorld(World):
    """Sellers of 3000 parameters, three slots, four samples."""

    market: SampledMarket
    slots, proved = 3, True
    spoils = ("", "", "", "", "bits", "zero", "seal", "twice", "root")
    refutations = ("own", "own", "own", "index", "far index", "path", "sealed", "shown", "last")

    def __init__(self, market: SampledMarket, **options: Any) -> None:
        super().__init__(market, **options)
        self.models = {0: market.model}
        self.steps: dict[int, Steps] = {}

    def opens(self, offer: Offer, secret: bytes) -> bool:
        return _opens(self.bodies[offer.root], secret)

    def sound(self, offer: Offer) -> bool:
        try:
            return _sound(self.bodies[offer.root], offer.commitment, offer.root)
        except KeyError:
            return False

    def refutation(self, offer: Offer, secret: bytes, kind: str) -> Any:
        body, words = self.bodies[offer.root], tree_shape(self.market.parameters).leaves
        good = refutation(body, secret, tree_shape(self.market.parameters), 0)
        return {
            "own": good,
            "index": replace(good, index=1),
            "far index": replace(good, index=2**128),
            "path": replace(good, path=good.path[1:]),
            "sealed": replace(good, sealed=bytes(32)),
            "shown": replace(good, shown=bytes(32)),
            "last": replace(good, index=words),
        }[kind]

    # --- publication ------------------------------------------------------------------------------------------

    def publish(self, actor: str, epoch: int, weights: list[tuple[str, int]], spoil: str = "") -> bool:
        page, now = self.page(epoch), self.now()
        self.market.epoch, self.market.model = epoch, self.models[page.base]
        listings = [Listing(offer=self.offer(page, name), weight=weight) for name, weight in weights]
        allowed = actor == "acquirer" and epoch <= self.epoch and page.may_publish(weights, now)
        self.market.aggregate(self.indexed(page, weights) if allowed else {})
        named = {"content": bytes(32), "root": self.market.new.root, "listings": listings}
        spoiled = self.spoil(named, spoil)
        send = functools.partial(self.trading.publish_model, **named, account=self.accounts[actor])
        done = self.attempt(allowed and not spoiled, send, epoch)
        if done is None:
            return False
        page.publish(weights, now)
        self.models[epoch] = self.market.aggregated.model if weights else self.models[page.base]
        self.steps[epoch] = Steps(number=done.receipt.block)
        return True

    def indexed(self, page: Page, weights: list[tuple[str, int]]) -> dict[int, int]:
        """Weights by the number of the seller whose update it is; what was stolen is its owner's."""
        roots = {seller.offer.commitment: i for i, seller in enumerate(self.market.sellers)}
        chosen: dict[int, int] = {}
        for name, weight in weights:
            owner = roots[self.offer(page, name).commitment]
            chosen[owner] = chosen.get(owner, 0) + weight
        return chosen

    def offer(self, page: Page, name: str) -> Offer:
        sale = page.sales.get(name)
        return sale.offer if sale is not None and sale.offer is not None else self.true[name].offer

    def spoil(self, named: dict[str, Any], kind: str) -> bool:
        listings = named["listings"]
        if kind == "root" and not listings:
            named["root"] = bytes(32)
            return True
        if kind not in ("bits", "zero", "seal", "twice") or not listings:
            return False
        first = listings[0]
        changed = {
            "bits": replace(first, weight=first.weight | 1 << 255),
            "zero": replace(first, weight=0),
            "seal": replace(first, offer=replace(first.offer, key_hash=bytes(32))),
            "twice": first,
        }[kind]
        listings[:1] = [changed, first] if kind == "twice" else [changed]
        return True

    # --- the proof --------------------------------------------------------------------------------------------

    def at(self, epoch: int, *phases: str) -> bool:
        return 1 <= epoch <= self.epoch and self.page(epoch).phase(self.now()) in phases

    def step(self, epoch: int) -> Steps:
        return self.steps.get(epoch, Steps())

    def due(self, epoch: int) -> bool:
        """Whether the market answers for the proof of this epoch."""
        return epoch == self.epoch and self.at(epoch, *PROVING)

    def draw(self, actor: str, epoch: int) -> bool:
        step, block = self.step(epoch), self.chain.web3.eth.block_number + 1
        allowed = self.due(epoch) and not step.drawn and step.number + 1 < block <= step.number + 257
        send = functools.partial(self.market.at_prover, "draw_samples", epoch, account=self.accounts[actor])
        if self.attempt(allowed, send) is None:
            return False
        step.drawn = True
        return True

    def randomise(self, actor: str, epoch: int, *, right: bool = True) -> bool:
        step = self.step(epoch)
        proof = self.market.delay_at(epoch, self.trading) if step.drawn else VdfProof(1, 1, 0)
        proof = proof if right else replace(proof, y=proof.y ^ 2)
        allowed = self.due(epoch) and step.drawn and step.output is None
        allowed = allowed and (actor == "acquirer" if self.market.optimistic else right)
        words = (epoch, wide(proof.y), wide(proof.pi), proof.nonce)
        send = functools.partial(self.market.at_prover, "submit_randomness", *words, account=self.accounts[actor])
        if self.attempt(allowed, send) is None:
            return False
        step.output, step.right = proof, right
        return True

    def challenge(self, actor: str, epoch: int) -> bool:
        step = self.step(epoch)
        allowed = self.market.optimistic and step.output is not None and not step.right and self.at(epoch, *PROVING)
        proof = step.output or VdfProof(1, 1, 0)
        send = functools.partial(self.trading.challenge_randomness, proof=proof, account=self.accounts[actor])
        return self.fails(epoch, self.attempt(allowed, send, epoch))

    def fails(self, epoch: int, done: Any) -> bool:
        if done is not None:
            self.page(epoch).enter("failed", self.now())
        return done is not None

    def commit_inputs(self, actor: str, epoch: int, lie: str = "") -> bool:
        step, page = self.step(epoch), self.page(epoch)
        if step.output is None or page.phase(self.now()) in FINAL or not self.stated(epoch):
            return False
        posted = dict(self.market.commitments)
        address = self.accounts[lie].address if lie else ""
        if address in posted:
            posted[address] ^= 1
        allowed = actor == "acquirer" and self.due(epoch) and not step.posted
        named = {"commitments": posted, "old": self.market.old, "new": self.market.new}
        send = functools.partial(self.trading.commit_inputs, **named, account=self.accounts[actor])
        if self.attempt(allowed, send, epoch) is None:
            return False
        step.posted, step.lied_about = True, lie if address in posted else ""
        return True

    def stated(self, epoch: int) -> bool:
        """The statement about an epoch's samples, for the slots as published; not where an update has two slots."""
        page = self.page(epoch)
        weights = [(self.named(n), w) for n, w in self.listed(epoch)]
        slots = self.indexed(page, weights)
        if len(slots) != len(weights):
            return False
        self.market.epoch, self.market.model = epoch, self.models[page.base]
        self.market.aggregate(slots)
        self.market.state_samples()
        names = [self.accounts[name].address for name, _ in weights]
        self.market.commitments = dict(zip(names, self.market.statement.commitments, strict=False))
        return True

    def listed(self, epoch: int) -> list[tuple[str, int]]:
        posted = self.trading.root(epoch)
        return list(zip(posted.providers, posted.weights, strict=True))

    def named(self, address: str) -> str:
        return next(name for name, account in self.accounts.items() if account.address == address)

    def verify(self, actor: str, epoch: int, *, forged: bool = False) -> bool:
        step = self.step(epoch)
        if not step.posted or not self.stated(epoch):
            return False
        proof = self.market.prove()
        proof = replace(proof, c=proof.a) if forged else proof
        latest = max(number for number, other in self.steps.items() if other.drawn)
        allowed = self.at(epoch, "published") and latest == epoch and not forged and not step.lied_about
        posted, now = self.trading.inputs(epoch), self.now()
        words = (epoch, list(posted.providers), list(posted.inputs), key_words(keys()[1]), proof_words(proof))
        send = functools.partial(self.market.at_prover, "verify_aggregation", *words, account=self.accounts[actor])
        if self.attempt(allowed, send) is None:
            return False
        self.page(epoch).enter("proved", now)
        return True

    def refute_commitment(self, actor: str, epoch: int, name: str) -> bool:
        step, page = self.step(epoch), self.page(epoch)
        if not step.posted or name not in page.sales or page.sales[name].weight == 0 or not self.stated(epoch):
            return False
        offer = self.offer(page, name)
        owner = next(i for i, seller in enumerate(self.market.sellers) if seller.offer.commitment == offer.commitment)
        latest = max(number for number, other in self.steps.items() if other.drawn)
        allowed = self.at(epoch, *PROVING) and latest == epoch and step.lied_about == name
        named = {"offer": offer, "objection": self.market.objection(owner), "account": self.accounts[actor]}
        return self.fails(
            epoch, self.attempt(allowed, functools.partial(self.trading.refute_commitment, **named), epoch)
        )

    def prove(self, steps: int = 4, lies: str = "") -> None:
        epoch = self.epoch
        step, page = self.step(epoch), self.page(epoch)
        if not epoch or page.proof != "due" or not self.at(epoch, "published"):
            return
        if steps >= 1 and not step.drawn:
            if self.chain.web3.eth.block_number == step.number:
                self.chain.travel(1)
            self.draw("acquirer", epoch)
        if steps >= 2 and step.drawn and step.output is None:
            self.randomise("acquirer", epoch, right=lies != "randomness" or not self.market.optimistic)
        if steps >= 3 and step.output is not None and not step.posted:
            self.commit_inputs("acquirer", epoch, self.named(self.listed(epoch)[0][0]) if lies == "commitment" else "")
        if steps >= 4 and step.posted and not step.lied_about and lies != "proof":
            self.verify("acquirer", epoch)

    def alarms(self) -> list[int]:
        settle = self.book.rules.settle
        return [page.due - settle + 10 for page in self.book.pages if page.proof == "due"]


@functools.cache
def _opens(body: bytes, secret: bytes) -> bool:
    return find_false_leaf(body, secret, tree_shape(3000)) is None


@functools.cache
def _sound(body: bytes, commitment: bytes, root: bytes) -> bool:
    try:
        check_sealed(body, commitment=commitment, root=root, shape=tree_shape(3000))
    except SettlementError:
        return False
    return True
