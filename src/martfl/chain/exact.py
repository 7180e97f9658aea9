"""The client of markets with exact settlement: the contract itself adds up the commitments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from martfl.chain import events as ev
from martfl.chain.calls import addresses, named, put_along, words
from martfl.chain.compile import compiled
from martfl.chain.deployment import NO_TOKEN, ContractTerms, ExactModel, ExactStart, PackingTerms
from martfl.chain.network import Chain
from martfl.chain.state import Listing, Offer
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.settlement.exact.false_leaf import ExactRefutation


class ExactTrading(Trading):
    """A market's contract with exact settlement."""

    scheme: ClassVar[str] = "exact"
    published: ClassVar[type[ev.ModelPublished]] = ev.ModelPublished
    needs_proof: ClassVar[bool] = False

    @classmethod
    def deploy(
        cls, chain: Chain, *, terms: ContractTerms, account: LocalAccount, key: str | None = None
    ) -> "ExactTrading":
        """Compile where needed and deploy; where the terms name no judge, one is deployed first."""
        start = terms.settlement
        if not isinstance(start, ExactStart):
            raise InputError(f"exact settlement starts from an ExactStart, got {type(start).__name__}")
        if start.judge == NO_TOKEN:
            start = replace(start, judge=put_along(chain, "judge", account=account, key=key))
        arguments = (terms.shared(), words(start.layout), words(start.model), to_checksum_address(start.judge))
        return cls._put(chain, arguments, account=account, key=key)

    def publish_model(
        self,
        epoch: int,
        *,
        content: bytes,
        blinding: int,
        listings: Sequence[Listing],
        account: LocalAccount,
        base: ExactModel | None = None,
        key: str | None = None,
    ) -> Done:
        """Have the chain add up the listed commitments; `base` comes from its events."""
        base = base or self.model(self.read_epoch(epoch).base)
        pairs = [base.point + _word(1), *(listing.offer.commitment + _word(listing.weight) for listing in listings)]
        providers = addresses([listing.offer.provider for listing in listings])
        seals = [listing.offer.seal for listing in listings]
        before = (base.content, base.blinding)
        call = self._f.publish_model(epoch, content, blinding, before, providers, seals, b"".join(pairs))
        return self.send(call, account, 0, key)

    def refute(
        self, epoch: int, *, offer: Offer, refutation: ExactRefutation, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Show that a leaf of a revealed update is not what it was committed to."""
        r = refutation
        leaf = (r.index, r.sealed, r.part, list(r.path), r.pairs, list(r.generators))
        provider = to_checksum_address(offer.provider)
        call = self._f.refute(epoch, provider, offer.commitment_hash, r.secret, leaf)
        return self.send(call, account, 0, key)

    def model(self, epoch: int) -> ExactModel:
        """The model that `epoch` published; 0 is the initial one."""
        (posted,) = self.events(ev.ModelPublished, epoch=epoch)
        return ExactModel(content=posted.content, blinding=posted.blinding, point=posted.point)

    def layout(self) -> PackingTerms:
        """How the contract says that updates are packed."""
        return PackingTerms(**named(self._f.layout().call(), PackingTerms))

    def has_our_code(self) -> bool:
        """Whether market and judge hold what these sources compile to."""
        judge = self.code_at(str(self._f.judge().call()))
        return super().has_our_code() and judge == compiled("judge").runtime


def _word(value: int) -> bytes:
    return value.to_bytes(32, "big")
