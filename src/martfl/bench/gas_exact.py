"""Gas of exact settlement: whole epochs of all parties, a contract's first one and a later one.

Gas does not depend on what updates hold, so all but one are random points. That one is sealed for real and false in one
leaf of 256 scalars: it is what `reveal` and `refute` are measured with.
"""

import secrets
from dataclasses import dataclass

import numpy as np
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.bench.gas_terms import ASK, DEPOSIT, LENET, WINDOW, even_weights, market_terms
from martfl.chain.deployment import ExactModel, ExactStart, PackingTerms
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.exact import ExactTrading
from martfl.chain.signing import sign_commit
from martfl.chain.state import Listing, Offer, SignedClaim
from martfl.settlement.exact import Commitment, CommitmentKey, generator_root, refutation, seal
from martfl.settlement.exact.false_leaf import ExactRefutation
from martfl.settlement.exact.sealed import leaf_tree, split_body

EPOCH = ("new_epoch", "deposit", "commit_models", "buy", "publish_model", "claim_rewards", "claim_reward (acquirer)")


@dataclass(frozen=True)
class Exact:
    """Gas by function in a later epoch and in the first; an epoch counts everybody's transactions."""

    functions: dict[str, int]
    first: dict[str, int]
    deployments: dict[str, int]
    codes: dict[str, int]  # bytes on chain

    def epoch(self, *, first: bool = False) -> int:
        """One epoch, commitments and claims relayed."""
        gas = self.first if first else self.functions
        return sum(gas[name] for name in EPOCH)


@dataclass(frozen=True)
class FalseExactUpdate:
    """A sealed update with one false leaf, ready to be sold, revealed and refuted."""

    offer: Offer
    secret: bytes
    refutation: ExactRefutation


def bench_exact(chain: EmbeddedChain, *, providers: int) -> Exact:
    """Two epochs of one market."""
    acquirer, *sellers = chain.accounts[: providers + 1]
    key = CommitmentKey.load(parameters=LENET)
    start = ExactStart(
        layout=PackingTerms(
            parameters=LENET,
            bits=key.layout.bits,
            width=key.layout.width,
            slots=key.layout.slots,
            generators=generator_root(key),
        ),
        model=ExactModel(content=secrets.token_bytes(32), blinding=1, point=random_point()),
    )
    trading = ExactTrading.deploy(chain, terms=market_terms(acquirer, start), account=acquirer)
    false = _false_update(key, sellers[0].address)
    first, later = (_epoch(chain, trading, acquirer, sellers, false) for _ in range(2))
    judge = str(trading.contract.functions.judge().call())
    codes = {"exact": len(trading.code_at(trading.address)), "judge": len(trading.code_at(judge))}
    assert trading.deployment is not None
    made = {"exact": trading.deployment.gas_used, "judge": deployment_gas(chain, judge)}
    return Exact(later, first, made, codes)


def deployment_gas(chain: EmbeddedChain, address: str) -> int:
    """What it took to put a contract where it is."""
    eth = chain.web3.eth
    for number in range(int(eth.block_number), -1, -1):
        for sent in eth.get_block(number)["transactions"]:
            receipt = eth.get_transaction_receipt(sent)  # type: ignore[arg-type]
            if receipt.get("contractAddress") == address:
                return int(receipt["gasUsed"])
    raise LookupError(f"no transaction made {address}")


def _epoch(
    chain: EmbeddedChain,
    trading: ExactTrading,
    acquirer: LocalAccount,
    sellers: list[LocalAccount],
    false: FalseExactUpdate,
) -> dict[str, int]:
    opened = trading.new_epoch(amount=DEPOSIT, account=acquirer)
    epoch, gas = opened.epoch, {"new_epoch": opened.gas}
    gas["deposit"] = trading.deposit(epoch, amount=DEPOSIT, account=acquirer).gas
    offers = [false.offer, *(_random_offer(seller) for seller in sellers[1:])]
    gas |= _commit(chain, trading, epoch, acquirer, sellers, offers)
    chain.travel(WINDOW + 1)
    gas["buy"] = trading.buy(epoch, offers=offers, account=acquirer).gas
    gas |= _deliver(chain, trading, epoch, acquirer, sellers, false)
    weights = even_weights(len(sellers))
    listings = [Listing(offer=offer, weight=weight) for offer, weight in zip(offers, weights, strict=True)]
    blinding = secrets.randbelow(1 << 250)
    published = {"content": secrets.token_bytes(32), "blinding": blinding, "listings": listings, "account": acquirer}
    gas["publish_model"] = trading.publish_model(epoch, **published).gas  # type: ignore[arg-type]
    return gas | _claim(chain, trading, epoch, acquirer, sellers)


def _commit(
    chain: EmbeddedChain,
    trading: ExactTrading,
    epoch: int,
    acquirer: LocalAccount,
    sellers: list[LocalAccount],
    offers: list[Offer],
) -> dict[str, int]:
    """One provider by itself, undone; then all of them by a relay."""
    where = {"chain_id": chain.chain_id, "market": trading.address, "epoch": epoch}
    digests = [offer.digest(chain_id=chain.chain_id, market=trading.address, epoch=epoch) for offer in offers]
    before = chain.snapshot()
    alone = trading.commit_model(epoch, digest=digests[1], account=sellers[1]).gas
    chain.revert(before)
    pairs = zip(sellers, digests, strict=True)
    entries = [sign_commit(seller, **where, digest=digest) for seller, digest in pairs]  # type: ignore[arg-type]
    return {
        "commit_model": alone,
        "commit_models": trading.commit_models(epoch, entries=entries, account=acquirer).gas,
    }


def _deliver(
    chain: EmbeddedChain,
    trading: ExactTrading,
    epoch: int,
    acquirer: LocalAccount,
    sellers: list[LocalAccount],
    false: FalseExactUpdate,
) -> dict[str, int]:
    """Steps that a smooth epoch does without, each undone."""
    before = chain.snapshot()
    gas = {"accept": trading.accept(epoch, providers=[s.address for s in sellers], account=acquirer).gas}
    chain.revert(before)
    gas["reveal"] = trading.reveal(epoch, offer=false.offer, secret=false.secret, account=sellers[0]).gas
    gas["refute"] = trading.refute(epoch, offer=false.offer, refutation=false.refutation, account=acquirer).gas
    chain.revert(before)
    return gas


def _claim(
    chain: EmbeddedChain, trading: ExactTrading, epoch: int, acquirer: LocalAccount, sellers: list[LocalAccount]
) -> dict[str, int]:
    before = chain.snapshot()
    alone = trading.claim_reward(epoch, account=sellers[1]).gas
    chain.revert(before)
    payees = [SignedClaim(provider=seller.address) for seller in sellers]
    return {
        "claim_reward (provider)": alone,
        "claim_rewards": trading.claim_rewards(epoch, payees=payees, account=acquirer).gas,
        "claim_reward (acquirer)": trading.claim_reward(epoch, account=acquirer).gas,
    }


def _false_update(key: CommitmentKey, provider: str) -> FalseExactUpdate:
    """Zeros, sealed; then the first value of the first leaf is changed under the seal."""
    secret = secrets.token_bytes(32)
    sealed = seal(np.zeros(key.parameters, np.int64), key, secret)
    body = sealed.body[:1] + bytes([sealed.body[1] ^ 1]) + sealed.body[2:]
    root = leaf_tree(*split_body(body, key), key).root
    commitment = sealed.commitment.to_eip2537()
    offer = Offer(provider=provider, commitment=commitment, root=root, key_hash=keccak(secret), ask=ASK)
    return FalseExactUpdate(offer, secret, refutation(body, secret, key, 0))


def _random_offer(seller: LocalAccount) -> Offer:
    root, key_hash = secrets.token_bytes(32), secrets.token_bytes(32)
    return Offer(provider=seller.address, commitment=random_point(), root=root, key_hash=key_hash, ask=ASK)


def random_point() -> bytes:
    """A commitment to nothing in particular."""
    return Commitment.from_point(G1Point() * Scalar(1 + secrets.randbelow(1 << 250))).to_eip2537()
