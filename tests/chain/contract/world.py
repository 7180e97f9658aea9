"""A market, its book and its money, side by side: every call goes to both, and both must agree on it.

Parties are called by short names: `acquirer`, `stranger`, `p0`, `p1`, … A scheme's world says how updates open, how
models are published and what a refutation is (`ExactWorld`, `SampledWorld`).
"""

from dataclasses import dataclass, field, replace
from typing import Any

from book import Book, Page, Rules, Sale
from eth_utils import keccak
from markets import Market, Seller

from martfl.chain.network import RevertedError
from martfl.chain.signing import sign_claim, sign_commit
from martfl.chain.state import Offer, SignedClaim, SignedCommit

PLACE = "0x" + "cd" * 20  # where somebody signs to be paid
PAYS, FALSE, REVERTS = range(3)  # moods of `token_moody`


@dataclass
class Facts:
    """What happened off chain, and on it, that the book does not hold."""

    pool: dict[tuple[int, str], SignedCommit] = field(default_factory=dict)  # signatures that relays have
    shown: dict[tuple[int, str], Offer | None] = field(default_factory=dict)  # offers that the acquirer has seen
    keys: dict[tuple[int, str], set[bytes]] = field(default_factory=dict)  # keys that the acquirer has
    revealed: dict[tuple[int, str], bytes] = field(default_factory=dict)  # keys on chain
    given: set[tuple[int, str]] = field(default_factory=set)  # honest sellers that handed their key over
    frowned: dict[str, int] = field(default_factory=dict)  # whom the token does not pay


class World:
    """The market on its chain beside the book."""

    slots, proved = 128, False
    spoils: tuple[str, ...] = ("",)  # ways to publish what must be refused
    refutations: tuple[str, ...] = ("own",)  # ways to refute, of which only the first may hold

    def __init__(self, market: Market, *, token: Any = None, most: int = 2**96 - 1) -> None:
        self.market, self.chain, self.trading = market, market.chain, market.trading
        self.token, self.most = token, most  # the largest amount that the token moves as it should
        terms = market.terms
        windows = (terms.commit_window, terms.buy_window, terms.key_window, terms.publish_window, terms.settle_window)
        rules = Rules(*windows, terms.penalty_ratio, terms.minimum_deposit, self.slots, self.proved)
        self.book, self.facts = Book(rules), Facts()
        self.names = [f"p{i}" for i in range(len(market.sellers))]
        self.accounts = {"acquirer": market.acquirer, "stranger": market.stranger}
        self.accounts |= {name: seller.account for name, seller in zip(self.names, market.sellers, strict=True)}
        self.true = dict(zip(self.names, market.sellers, strict=True))
        self.false = {name: self.spoiled(i) for i, name in enumerate(self.names)}
        self.bodies = {s.offer.root: s.body for s in (*self.true.values(), *self.false.values())}

    # --- what a scheme says -----------------------------------------------------------------------------------

    def spoiled(self, index: int) -> Seller:
        """The same seller with a sealed update that its key does not open."""
        before = self.market.sellers[index]
        self.market.lies(index)
        false, self.market.sellers[index] = self.market.sellers[index], before
        return false

    def opens(self, offer: Offer, secret: bytes) -> bool:
        raise NotImplementedError

    def sound(self, offer: Offer) -> bool:
        """Whether a buyer that checks the sealed body before it pays finds nothing wrong."""
        raise NotImplementedError

    def publish(self, actor: str, epoch: int, weights: list[tuple[str, int]], spoil: str = "") -> bool:
        raise NotImplementedError

    def refutation(self, offer: Offer, secret: bytes, kind: str) -> Any:
        raise NotImplementedError

    def frown(self, name: str, mood: int) -> None:
        """From now on the token does not pay `name`."""
        call = self.token.functions.frown(self.accounts[name].address, mood)
        self.chain.send(call, account=self.accounts["stranger"])
        self.facts.frowned[name] = mood

    def prove(self, steps: int = 4, lies: str = "") -> None:
        """The acquirer's steps after publication, where a scheme has some; an honest one takes all of them."""

    def alarms(self) -> list[int]:
        """When they should be taken."""
        return []

    def fits(self, offer: Offer, secret: bytes) -> bool:
        return keccak(secret) == offer.key_hash

    def secret_for(self, offer: Offer) -> bytes:
        """The key that an offer is sealed under; whether somebody knows it is for the caller to say."""
        return next((s.secret for s in self.true.values() if self.fits(offer, s.secret)), bytes(32))

    def opens_with(self, offer: Offer, secret: bytes) -> bool:
        return self.fits(offer, secret) and self.opens(offer, secret)

    # --- the clock --------------------------------------------------------------------------------------------

    def now(self) -> int:
        """The second in which the next transaction runs."""
        return self.chain.now() + 1

    @property
    def epoch(self) -> int:
        return len(self.book.pages)

    def page(self, epoch: int) -> Page:
        return self.book.pages[epoch - 1] if 1 <= epoch <= self.epoch else Book(self.book.rules).page

    def attempt(self, allowed: bool, send: Any, *arguments: Any, **named: Any) -> Any:
        """The contract does exactly what the book allows; what it said, or None."""
        try:
            done = send(*arguments, **named)
        except RevertedError as error:
            assert not allowed, f"the book allows it, the contract says {error.reason}"
            assert error.reason.startswith(("trading: ", "prover: ")) or self.token is not None, error.reason
            return None
        assert allowed, f"the contract allows it, the book does not: {arguments} {named}"
        return done

    # --- calls ------------------------------------------------------------------------------------------------

    def new_epoch(self, actor: str, amount: int) -> bool:
        now = self.now()
        allowed = actor == "acquirer" and self.book.may_open(amount, now) and amount <= self.most
        if self.attempt(allowed, self.trading.new_epoch, amount=amount, account=self.accounts[actor]) is None:
            return False
        self.opening(now)
        self.book.open(amount, now)
        return True

    def opening(self, now: int) -> None:
        """A scheme's own steps where an epoch ends and the next begins."""

    def deposit(self, actor: str, epoch: int, amount: int) -> bool:
        page, now = self.page(epoch), self.now()
        allowed = actor == "acquirer" and now <= page.end("commit") and 0 < amount <= self.most
        allowed = allowed and page.deposit + amount < 2**96
        done = self.attempt(allowed, self.trading.deposit, epoch, amount=amount, account=self.accounts[actor])
        if done is not None:
            page.deposit += amount
        return done is not None

    def digest(self, offer: Offer, epoch: int) -> bytes:
        return offer.digest(chain_id=self.chain.chain_id, market=self.trading.address, epoch=epoch)

    def opened_by(self, name: str, offer: Offer) -> Offer | None:
        """The offer, where a digest of it can be `name`'s."""
        return offer if offer.provider == self.accounts[name].address else None

    def commit(self, actor: str, epoch: int, offer: Offer, *, of_epoch: int | None = None) -> bool:
        digest = self.digest(offer, of_epoch or epoch)
        allowed = self.page(epoch).may_commit(actor, self.now())
        done = self.attempt(allowed, self.trading.commit_model, epoch, digest=digest, account=self.accounts[actor])
        if done is not None:
            opens = self.opened_by(actor, offer) if (of_epoch or epoch) == epoch else None
            self.page(epoch).sales[actor] = Sale(opens)
        return done is not None

    def signed(self, name: str, epoch: int, offer: Offer) -> SignedCommit:
        values = {"chain_id": self.chain.chain_id, "market": self.trading.address, "epoch": epoch}
        return sign_commit(self.accounts[name], **values, digest=self.digest(offer, epoch))

    def relay(self, actor: str, epoch: int, entries: list[tuple[str, SignedCommit, Offer | None]]) -> None:
        """Entries are (signer, what is sent, the offer behind it where signature and name are right)."""
        page, now = self.page(epoch), self.now()
        allowed = now <= page.end("commit") and page.deposit >= page.rules.minimum
        sent = [entry for _, entry, _ in entries]
        if self.attempt(allowed, self.trading.commit_models, epoch, entries=sent, account=self.accounts[actor]) is None:
            return
        for name, _, offer in entries:
            if offer is not None and page.may_commit(name, now):
                page.sales[name] = Sale(offer)

    def buy(self, actor: str, epoch: int, offers: list[tuple[str, Offer]]) -> bool:
        page = self.page(epoch)
        allowed = actor == "acquirer" and epoch <= self.epoch and page.may_buy(offers, self.now())
        sent = [offer for _, offer in offers]
        if self.attempt(allowed, self.trading.buy, epoch, offers=sent, account=self.accounts[actor]) is None:
            return False
        page.buy(offers)
        return True

    def accept(self, actor: str, epoch: int, names: list[str]) -> bool:
        page = self.page(epoch)
        allowed = actor == "acquirer" and page.may_accept(names, self.now())
        sent = [self.accounts[name].address for name in names]
        if self.attempt(allowed, self.trading.accept, epoch, providers=sent, account=self.accounts[actor]) is None:
            return False
        for name in names:
            page.sales[name].state = "accepted"
        return True

    def reveal(self, actor: str, epoch: int, name: str, offer: Offer, secret: bytes) -> bool:
        page = self.page(epoch)
        mine = page.sales[name].offer if name in page.sales else None
        fits = mine is not None and (offer.commitment, offer.root) == (mine.commitment, mine.root)
        allowed = page.may_reveal(name, self.now()) and fits and keccak(secret) == mine.key_hash
        named = {"offer": replace(offer, provider=self.accounts[name].address), "secret": secret}
        if self.attempt(allowed, self.trading.reveal, epoch, **named, account=self.accounts[actor]) is None:
            return False
        page.sales[name].state = "revealed"
        self.facts.keys.setdefault((epoch, name), set()).add(secret)
        self.facts.revealed[epoch, name] = secret
        return True

    def refute(self, actor: str, epoch: int, name: str, source: Offer, secret: bytes, kind: str = "own") -> bool:
        """Refute `name` by a leaf of `source`: it holds where the leaf is of its own update, and false."""
        page = self.page(epoch)
        mine = page.sales[name].offer if name in page.sales else None
        own = mine is not None and (source.commitment, source.root) == (mine.commitment, mine.root)
        own = own and keccak(secret) == mine.key_hash
        allowed = kind == "own" and own and page.may_refute(name, self.now()) and not self.opens(mine, secret)
        named = {"offer": replace(source, provider=self.accounts[name].address), "account": self.accounts[actor]}
        shown = self.refutation(source, secret, kind)
        if self.attempt(allowed, self.trading.refute, epoch, **named, refutation=shown) is None:
            return False
        page.sales[name].state = "refuted"
        return True

    # --- claims -----------------------------------------------------------------------------------------------

    def balance(self, address: str) -> int:
        return self.chain.balance(address) if self.token is None else self.token.functions.balanceOf(address).call()

    def claim(self, actor: str, epoch: int) -> None:
        page, now = self.page(epoch), self.now()
        phase, address = page.phase(now), self.accounts[actor].address
        due = page.claimable(actor, now)
        if actor == "acquirer":
            due = page.refund(phase) if phase in ("settled", "failed", "empty") and not page.refunded else 0
        before, held = self.balance(address), self.balance(self.trading.address)
        allowed = epoch <= self.epoch and due > 0 and not self.facts.frowned.get(actor, PAYS)
        done = self.attempt(allowed, self.trading.claim_reward, epoch, account=self.accounts[actor])
        if done is None:
            return
        fee = done.receipt.fee if self.token is None else 0
        assert held - self.balance(self.trading.address) == due
        assert self.balance(address) - before + fee == due or self.most < due  # a token may charge its fee now
        if actor == "acquirer":
            page.refunded, page.paid["acquirer"] = True, due
        else:
            page.pay(actor, due)

    def signed_claim(self, name: str, epoch: int, receiver: str) -> SignedClaim:
        values = {"chain_id": self.chain.chain_id, "market": self.trading.address, "epoch": epoch}
        return sign_claim(self.accounts[name], **values, receiver=receiver)

    def claim_for(self, actor: str, epoch: int, payees: list[tuple[str, SignedClaim, bool]]) -> None:
        """Payees are (provider, what is sent, whether its signature, where it needs one, is right)."""
        page, now = self.page(epoch), self.now()
        allowed = page.phase(now) in ("settled", "failed", "empty")
        before = self.balance(self.trading.address)
        sent = [claim for _, claim, _ in payees]
        if self.attempt(allowed, self.trading.claim_rewards, epoch, payees=sent, account=self.accounts[actor]) is None:
            return
        total = 0
        for name, claim, right in payees:
            due = page.claimable(name, now) if name in page.sales else 0
            elsewhere = claim.receiver not in ("", self.accounts[name].address)
            if due and right and (elsewhere or not self.facts.frowned.get(name, PAYS)):
                page.pay(name, due)
                total += due
        assert before - self.balance(self.trading.address) == total
