"""The exact scheme for worlds: the chain's sum is compared with the settlement's own."""

import functools
from dataclasses import replace
from typing import Any

from exact_market import ExactMarket
from world import World

from martfl.chain.state import Listing, Offer
from martfl.settlement.errors import SettlementError
from martfl.settlement.exact import Commitment, check_sealed, combine, find_false_leaf, refutation


class ExactWorld(World):
    """Sellers of seven parameters."""

    market: ExactMarket
    spoils = ("", "", "", "bits", "zero", "point", "seal", "twice", "blinding", "base")
    refutations = (
        "own",
        "own",
        "own",
        "index",
        "far index",
        "path",
        "part",
        "scalar",
        "blinding",
        "generator",
        "sealed",
    )

    def opens(self, offer: Offer, secret: bytes) -> bool:
        return _opens(self.bodies[offer.root], secret, self.market.key)

    def sound(self, offer: Offer) -> bool:
        try:
            commitment = Commitment.from_eip2537(offer.commitment)
            check_sealed(self.bodies[offer.root], commitment=commitment, root=offer.root, key=self.market.key)
        except (SettlementError, KeyError):
            return False
        return True

    def refutation(self, offer: Offer, secret: bytes, kind: str) -> Any:
        good = _refutation(self.bodies[offer.root], secret, self.market.key)
        pairs = good.pairs
        return {
            "own": good,
            "index": replace(good, index=1),
            "far index": replace(good, index=2**128),
            "path": replace(good, path=(bytes(32),)),
            "part": replace(good, part=pairs[:128]),
            "scalar": replace(good, pairs=pairs[:319] + bytes([pairs[319] ^ 1]) + pairs[320:]),
            "blinding": replace(good, pairs=pairs[:159] + bytes([pairs[159] ^ 1]) + pairs[160:]),
            "generator": replace(good, pairs=pairs[:160] + pairs[:128] + pairs[288:]),
            "sealed": replace(good, sealed=bytes([good.sealed[0] ^ 1]) + good.sealed[1:]),
        }[kind]

    def publish(self, actor: str, epoch: int, weights: list[tuple[str, int]], spoil: str = "") -> bool:
        page, now = self.page(epoch), self.now()
        base = self.trading.model(page.base)
        listings = [Listing(offer=self.offer(page, name), weight=weight) for name, weight in weights]
        named = {"content": base.content if not weights else bytes([epoch]) * 32, "blinding": 0, "base": base}
        named |= {"listings": listings, "account": self.accounts[actor]}
        spoiled = self.spoil(named, spoil)
        allowed = actor == "acquirer" and epoch <= self.epoch and not spoiled and page.may_publish(weights, now)
        if self.attempt(allowed, self.trading.publish_model, epoch, **named) is None:
            return False
        page.publish(weights, now)
        points = [Commitment.from_eip2537(listing.offer.commitment) for listing in listings]
        old = Commitment.from_eip2537(base.point)
        new = combine(old, [weight for _, weight in weights], points) if weights else old
        assert self.trading.model(epoch).point == new.to_eip2537()
        return True

    def offer(self, page, name: str) -> Offer:
        """What a provider bound itself to; for others whatever they have."""
        sale = page.sales.get(name)
        return sale.offer if sale is not None and sale.offer is not None else self.true[name].offer

    def spoil(self, named: dict[str, Any], kind: str) -> bool:
        """Change a publication so that it must be refused; whether there was something to change."""
        listings = named["listings"]
        if kind == "blinding":
            named["blinding"] = self.market.order if listings else 1
        elif kind == "base":
            named["base"] = replace(named["base"], blinding=named["base"].blinding + 1)
        elif kind in ("bits", "zero", "point", "seal", "twice") and listings:
            first, other = listings[0], self.true["p3"].offer
            changed = {
                "bits": replace(first, weight=first.weight | 1 << 255),
                "zero": replace(first, weight=0),
                "point": replace(first, offer=replace(first.offer, commitment=self.market.initial.point)),
                "seal": replace(first, offer=replace(first.offer, key_hash=bytes(32), root=other.root)),
                "twice": first,
            }[kind]
            listings[:1] = [changed, first] if kind == "twice" else [changed]
        else:
            return False
        return True


@functools.cache
def _opens(body: bytes, secret: bytes, key) -> bool:
    return find_false_leaf(body, secret, key) is None


@functools.cache
def _refutation(body: bytes, secret: bytes, key):
    return refutation(body, secret, key, 0)
