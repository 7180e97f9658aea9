# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title Trading with exact settlement: the chain itself adds up the commitments.
@notice C_W(t) = C_W(t-1) + sum of k_i * C_i over the listed providers, by the G1MSM precompile. The acquirer reveals the
        blinding of the sum; whoever holds the model file checks it against the commitment with one multi-scalar
        multiplication. The sum is the chain's own: a file that does not open it is refused by everybody who holds it.

Trust assumptions beside those of `exchange.vy`
- Commitments bind as long as discrete logarithms on BLS12-381 are hard.
- The generators are those of the tree whose root was given at deployment; a provider computes it before it joins.
- The code at the address of the judge is what `judge.vy` compiles to; a provider checks this before it joins.
"""

import claims
import curve
import exchange
import leaves
import ledger
import register
from interfaces import IExact
from interfaces import IJudge
from interfaces import ITrading

implements: ITrading
implements: IExact

initializes: register
initializes: exchange[register := register]
initializes: claims[register := register]

exports: (
    exchange.new_epoch,
    exchange.deposit,
    exchange.commit_model,
    exchange.commit_models,
    exchange.buy,
    exchange.accept,
    exchange.reveal,
    claims.claim_reward,
    claims.claim_rewards,
    register.read_epoch,
    register.read_provider,
    register.terms,
    register.epoch_count,
    register.model,
)

SCHEME: public(constant(String[8])) = "exact"


PARAMETERS: immutable(uint256)
BITS: immutable(uint256)
WIDTH: immutable(uint256)
SLOTS: immutable(uint256)
GENERATORS: immutable(bytes32)
JUDGE: immutable(IJudge)


@deploy
def __init__(terms: ITrading.Terms, layout: leaves.Layout, initial: IExact.Model, judge: address):
    leaves.check(layout)
    assert judge.is_contract, "trading: no contract that judges leaves"
    curve.check(initial.point)
    assert initial.blinding < curve.ORDER, "trading: blinding is not below the group order"
    register.__init__(terms, self._digest(initial.content, initial.blinding, keccak256(initial.point)))
    PARAMETERS = layout.parameters
    BITS = layout.bits
    WIDTH = layout.width
    SLOTS = layout.slots
    GENERATORS = layout.generators
    JUDGE = IJudge(judge)
    log IExact.ModelPublished(
        epoch=0, content=initial.content, blinding=initial.blinding, point=initial.point, providers=[], weights=[]
    )


@external
def publish_model(
    epoch: uint256,
    content: bytes32,
    blinding: uint256,
    base: IExact.Base,
    providers: DynArray[address, ledger.MAX],
    seals: DynArray[bytes32, ledger.MAX],
    pairs: Bytes[curve.PAIR * (ledger.MAX + 1)],
):
    """
    @notice Add the listed commitments to the model's and post the hash of the new model's file. Weights sum to 65536, or
            nobody is listed and the model stays as it is. Being listed says that the provider delivered.
    @param epoch The epoch.
    @param content Hash of the new model's file.
    @param blinding Sum of k_i * rho_i modulo the group order.
    @param base File hash and blinding of the model that the epoch starts from.
    @param providers Who is in the aggregate.
    @param seals keccak(root, keccak(key)) of each provider's sealed update.
    @param pairs The base model's commitment with scalar 1, then C_i with k_i: 128 + 32 bytes each.
    """
    bonus: uint256 = exchange._publishing(epoch)
    if len(providers) == 0:
        assert blinding == 0, "trading: without providers the model stays as it is"
    assert blinding < curve.ORDER, "trading: blinding is not below the group order"
    assert len(seals) == len(providers), "trading: one seal for each provider"
    assert len(pairs) == curve.PAIR * (len(providers) + 1), "trading: one pair for each provider and the base"
    known: bytes32 = self._digest(base.content, base.blinding, keccak256(slice(pairs, 0, 128)))
    assert known == register.base, "trading: not the base model"
    assert extract32(pairs, 128) == convert(1, bytes32), "trading: scalar of the base must be 1"
    weights: DynArray[uint256, ledger.MAX] = []
    at: uint256 = curve.PAIR
    for i: uint256 in range(len(providers), bound=ledger.MAX):
        weight: uint256 = convert(extract32(pairs, at + 128), uint256)
        exchange._list(epoch, providers[i], keccak256(slice(pairs, at, 128)), seals[i], weight)
        weights.append(weight)
        at += curve.PAIR
    # The precompile tests the subgroup of every point.
    ok: bool = False
    point: Bytes[128] = b""
    ok, point = raw_call(curve.G1MSM, pairs, max_outsize=128, is_static_call=True, revert_on_failure=False)
    assert ok and len(point) == curve.POINT, "trading: points do not add up"
    blinded: uint256 = uint256_addmod(base.blinding, blinding, curve.ORDER)
    model: bytes32 = self._digest(content, blinded, keccak256(point))
    exchange._publish(epoch, weights, bonus, ledger.Phase.STANDING, model)
    log IExact.ModelPublished(
        epoch=epoch, content=content, blinding=blinded, point=point, providers=providers, weights=weights
    )


@external
def refute(epoch: uint256, provider: address, commitment: bytes32, key: bytes32, leaf: leaves.Leaf):
    """
    @notice Show that a leaf of a sealed update whose key is on chain is not what it was committed to. The price returns to
            the acquirer. Anybody may, until the publish window ends, unless the acquirer has accepted or listed the update.
    @param epoch The epoch.
    @param provider Whose update it is.
    @param commitment keccak of what the update was committed to.
    @param key The key on chain.
    @param leaf The leaf, its place in the trees, and the sum that its commitment should be.
    """
    root: bytes32 = staticcall JUDGE.root_of_false(self._layout(), key, leaf)
    exchange._refute(epoch, provider, commitment, root, key, leaf.index)


@external
@view
def layout() -> leaves.Layout:
    """
    @notice How updates are packed, and the generators that they are committed with.
    @return The layout.
    """
    return self._layout()


@external
@view
def judge() -> address:
    """
    @notice Where refuted leaves are judged.
    @return The address of the contract of `judge.vy`.
    """
    return JUDGE.address


@internal
@view
def _layout() -> leaves.Layout:
    return leaves.Layout(parameters=PARAMETERS, bits=BITS, width=WIDTH, slots=SLOTS, generators=GENERATORS)


@internal
@pure
def _digest(content: bytes32, blinding: uint256, point: bytes32) -> bytes32:
    # The chain keeps the digest of a model; the event holds what it stands for.
    return keccak256(abi_encode(content, blinding, point))
