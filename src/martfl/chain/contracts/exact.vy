# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title Trading with exact settlement: the chain itself adds up the commitments.
@notice C_W(t) = C_W(t-1) + sum of k_i * C_i over the bought providers, by the G1MSM precompile. The acquirer reveals the
        blinding of the sum; whoever holds the model file checks it against the commitment with one multi-scalar
        multiplication. What is left to cheat with is which file is handed out: bought providers may object in a window.

Trust assumptions beside those of `market.vy`
- Commitments bind as long as discrete logarithms on BLS12-381 are hard; records keep 29 bytes of Keccak-256 of each.
- Objections are a vote: providers that hold more than half of the bought weight are trusted not to object to a right
  file for the sake of the penalty.
- A dropped provider's weight is 0, the others keep theirs: the aggregate is the sum over those that remain.
"""

import curve
import ledger
import market

initializes: market

exports: (
    market.deposit,
    market.buy_advance,
    market.prepare,
    market.drop,
    market.expire,
    market.claim_reward,
    market.read_epoch,
    market.read_provider,
    market.refundable,
    market.terms,
    market.epoch_count,
    market.model,
)

SCHEME: public(constant(String[8])) = "exact"


struct Model:
    content: bytes32       # hash of the published file
    blinding: uint256      # of the commitment
    point: Bytes[128]      # C_W


event ModelPublished:
    epoch: indexed(uint256)
    content: indexed(bytes32)
    blinding: uint256
    point: Bytes[128]

event Objected:
    epoch: indexed(uint256)
    provider: indexed(address)
    weight: uint256
    evidence: bytes32


@deploy
def __init__(terms: market.Terms, initial: Model):
    curve.check(initial.point)
    market.__init__(terms, ledger.PUBLISHED, market.MAX, self._announce(0, initial))


@external
@payable
@nonreentrant
def new_epoch(nonce: bytes32, amount: uint256) -> uint256:
    """
    @notice Open the next epoch, with as much of the deposit as is brought along.
    """
    return market._open(nonce, amount)


@external
def commit_model(epoch: uint256, commitment: Bytes[128], nonce: bytes32):
    """
    @notice Bind the caller to its update of this epoch.
    """
    curve.check(commitment)
    market._commit(epoch, commitment, nonce)


@external
def publish_model(
    epoch: uint256,
    content: bytes32,
    blinding: uint256,
    base_content: bytes32,
    base_blinding: uint256,
    providers: DynArray[address, market.MAX],
    pairs: Bytes[curve.PAIR * curve.MAX_PAIRS],
):
    """
    @notice Add the bought commitments to the model's and post the hash of the new model's file.
    @param blinding Sum of k_i * rho_i modulo the group order.
    @param providers All bought providers that were not dropped, in rising order.
    @param pairs The base model's commitment with scalar 1, then C_i with k_i: 128 + 32 bytes each.
    """
    market._only_acquirer()
    e: ledger.Epoch = market._at(epoch, ledger.PREPARED)
    assert block.timestamp <= e.deadline, "trading: too late"
    assert blinding < curve.ORDER, "trading: blinding is not below the group order"
    assert len(pairs) == curve.PAIR * (len(providers) + 1), "trading: one pair for each provider and the base"
    base: bytes32 = keccak256(abi_encode(base_content, base_blinding, keccak256(slice(pairs, 0, 128))))
    assert base == market.base, "trading: not the base model"
    assert extract32(pairs, 128) == convert(1, bytes32), "trading: scalar of the base must be 1"
    # Every pair must be a bought provider's commitment and weight; rising order keeps anybody from counting twice. The
    # loop stands here and not in a function of its own because arguments would be copied: 20 KB of memory.
    total: uint256 = 0
    last: uint256 = 0
    at: uint256 = curve.PAIR
    for provider: address in providers:
        assert convert(provider, uint256) > last, "trading: providers must rise"
        last = convert(provider, uint256)
        record: uint256 = market.records[epoch][provider]
        weight: uint256 = convert(extract32(pairs, at + 128), uint256)
        digest: uint256 = convert(keccak256(slice(pairs, at, 128)), uint256) & ledger.DIGEST
        # A weight wider than its field would hide bits of itself under those of the digest.
        sound: bool = weight != 0 and weight <= ledger.WHOLE
        assert sound and record & ~ledger.ADVANCE == digest | ledger.COMMITTED | weight, "trading: not the commitment and weight"
        total = unsafe_add(total, weight)  # at most 128 * 2^16
        at = unsafe_add(at, curve.PAIR)
    assert total == e.weight, "trading: a bought provider is missing"
    e.phase = ledger.PUBLISHED
    e.deadline = block.timestamp + market.SETTLE_WINDOW
    market.epochs[epoch] = ledger.pack(e)
    blinded: uint256 = uint256_addmod(base_blinding, blinding, curve.ORDER)
    # sum of k_i * P_i; the points were checked when they were posted
    ok: bool = False
    point: Bytes[128] = b""
    ok, point = raw_call(
        curve.G1MSM,
        pairs,
        max_outsize=128,
        gas=curve.MSM_GAS * (len(providers) + 1),
        is_static_call=True,
        revert_on_failure=False,
    )
    assert ok and len(point) == 128, "trading: points do not add up"
    market.next = self._announce(epoch, Model(content=content, blinding=blinded, point=point))


@external
def object(epoch: uint256, evidence: bytes32):
    """
    @notice A bought provider says that the file it got is not the model of the commitment. More than half of the bought
            weight fails the epoch.
    @param evidence Anything the provider wants on record, for example the hash of the file it was given.
    """
    e: ledger.Epoch = market._at(epoch, ledger.PUBLISHED)
    record: uint256 = market._seller(epoch, msg.sender)
    weight: uint256 = record & ledger.WEIGHT
    assert weight > 0, "trading: provider is not bought"
    assert record & ledger.OBJECTED == 0, "trading: already objected"
    market.records[epoch][msg.sender] = record | ledger.OBJECTED
    e.objected += weight
    log Objected(epoch=epoch, provider=msg.sender, weight=weight, evidence=evidence)
    if 2 * e.objected > e.weight:
        market._close(epoch, e, ledger.FAILED)
    else:
        market.epochs[epoch] = ledger.pack(e)


@internal
def _announce(epoch: uint256, model: Model) -> bytes32:
    # The chain keeps the digest; the event holds what it stands for.
    log ModelPublished(epoch=epoch, content=model.content, blinding=model.blinding, point=model.point)
    return keccak256(abi_encode(model.content, model.blinding, keccak256(model.point)))
