# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title Trading with sampled settlement, after the paper: a Groth16 proof about randomly drawn parameters.
@notice The acquirer posts the Merkle root of the new model. Samples are drawn, opened and proved in the contract of
        `prover.vy`, which tells this one how it ended.

Trust assumptions beside those of `exchange.vy`
- A cheat on a share f of the parameters goes unseen with probability (1 - f)^samples.
- The code at the address of the prover is what `prover.vy` compiles to; a provider checks this before it joins. The trust
  assumptions of that contract are those of the proof.
"""

import claims
import exchange
import ledger
import register
import vdf
import words
from interfaces import IProver
from interfaces import ISampled
from interfaces import ITrading

implements: ITrading
implements: ISampled

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

SCHEME: public(constant(String[8])) = "sampled"


SLOTS: immutable(uint256)
SAMPLES: immutable(uint256)
PARAMETERS: immutable(uint256)
STEPS: immutable(uint256)
KEY: immutable(bytes32)
VACANT: immutable(uint256)
POSEIDON: immutable(bytes32)
OPTIMISTIC: immutable(bool)
PROVER: immutable(IProver)

number: uint256
listed: bytes32
nonces: bytes32
proof: public(ISampled.Proof)  # kept here, not at the prover: this storage is what our own constructor left


@deploy
def __init__(terms: ITrading.Terms, sampling: ISampled.Sampling, root: bytes32, content: bytes32):
    assert sampling.providers > 0 and sampling.providers <= ledger.MAX, "trading: slots must be 1 to 128"
    assert sampling.samples > 0 and sampling.samples <= words.MAX_SAMPLES, "trading: samples must be 1 to 126"
    assert sampling.samples <= sampling.parameters, "trading: more samples than parameters"
    assert sampling.parameters <= words.MAX_PARAMETERS, "trading: model too large"
    assert sampling.vdf_steps >= vdf.MIN_STEPS and sampling.vdf_steps < 2 ** 63, "trading: steps must be 264 to 2^63 - 1"
    assert sampling.empty_commitment < words.FIELD, "trading: empty commitment is not in the field"
    assert sampling.prover.is_contract, "trading: no contract that proves"
    register.__init__(terms, root)
    SLOTS = sampling.providers
    SAMPLES = sampling.samples
    PARAMETERS = sampling.parameters
    STEPS = sampling.vdf_steps
    KEY = sampling.verifying_key
    VACANT = sampling.empty_commitment
    POSEIDON = sampling.poseidon
    OPTIMISTIC = sampling.optimistic
    PROVER = IProver(sampling.prover)
    # Slots that were never empty cost the first epoch no more than the next.
    self.number = block.number
    self.listed = root
    self.nonces = root
    log ISampled.RootPublished(epoch=0, content=content, root=root, nonces=empty(bytes32), providers=[], weights=[])


@external
def publish_model(epoch: uint256, content: bytes32, root: bytes32, listings: DynArray[ISampled.Listing, ledger.MAX]):
    """
    @notice Post the Merkle root of the new quantised model and the hash of its file, before the samples can be known.
            Weights sum to 65536, or nobody is listed and the model stays as it is. Being listed says that the provider
            delivered.
    @param epoch The epoch.
    @param content Hash of the new model's file.
    @param root Of the new model.
    @param listings Who is in the aggregate at which weight, in the order of the circuit's slots.
    """
    bonus: uint256 = exchange._publishing(epoch)
    assert len(listings) <= SLOTS, "trading: more providers than slots"
    providers: DynArray[address, ledger.MAX] = []
    weights: DynArray[uint256, ledger.MAX] = []
    nonces: bytes32 = empty(bytes32)
    for listing: ISampled.Listing in listings:
        exchange._list(epoch, listing.provider, listing.commitment, listing.seal, listing.weight)
        nonces = keccak256(concat(nonces, listing.seal))
        providers.append(listing.provider)
        weights.append(listing.weight)
    phase: ledger.Phase = ledger.Phase.PUBLISHED
    if len(listings) == 0:
        assert root == register.base, "trading: without providers the model stays as it is"
        phase = ledger.Phase.STANDING
    self.number = block.number
    self.listed = keccak256(abi_encode(providers, weights))
    self.nonces = nonces
    exchange._publish(epoch, weights, bonus, phase, root)
    log ISampled.RootPublished(
        epoch=epoch, content=content, root=root, nonces=nonces, providers=providers, weights=weights
    )


@external
def keep(proof: ISampled.Proof):
    """
    @notice The prover says how far the proof of the latest epoch is.
    @param proof What it goes on from.
    """
    self._from_prover(proof.epoch, ledger.Phase.PUBLISHED | ledger.Phase.PROVED)
    self.proof = proof


@external
def proved(epoch: uint256):
    """
    @notice The prover says that the proof holds. The model stands when the window for refutations ends.
    @param epoch The epoch.
    """
    self._from_prover(epoch, ledger.Phase.PUBLISHED)
    exchange._enter(epoch, ledger.Phase.PROVED)
    log ISampled.EpochProved(epoch=epoch)


@external
def failed(epoch: uint256):
    """
    @notice The prover says that the acquirer's inputs were false.
    @param epoch The epoch.
    """
    self._from_prover(epoch, ledger.Phase.PUBLISHED | ledger.Phase.PROVED)
    exchange._enter(epoch, ledger.Phase.FAILED)
    log ISampled.EpochFailed(epoch=epoch)


@external
def refute(epoch: uint256, provider: address, commitment: bytes32, key: bytes32, leaf: words.Leaf):
    """
    @notice Show that a leaf of a sealed update whose key is on chain is not what it was committed to. The price returns to
            the acquirer. Anybody may, until the publish window ends, unless the acquirer has accepted or listed the update.
    @param epoch The epoch.
    @param provider Whose update it is.
    @param commitment keccak of what the update was committed to.
    @param key The key on chain.
    @param leaf The leaf and its place in the tree.
    """
    root: bytes32 = staticcall PROVER.root_of_false(PARAMETERS, key, leaf)
    exchange._refute(epoch, provider, commitment, root, key, leaf.index)


@external
@view
def sampling() -> ISampled.Sampling:
    """
    @notice What this market fixed.
    @return The sampling.
    """
    return ISampled.Sampling(
        providers=SLOTS,
        samples=SAMPLES,
        parameters=PARAMETERS,
        vdf_steps=STEPS,
        verifying_key=KEY,
        empty_commitment=VACANT,
        poseidon=POSEIDON,
        optimistic=OPTIMISTIC,
        prover=PROVER.address,
    )


@external
@view
def publication(epoch: uint256) -> ISampled.Publication:
    """
    @notice What the proof of an epoch is about, while it waits for the proof.
    @param epoch The epoch; the latest one.
    @return Roots, and hashes of who is in the aggregate.
    """
    assert epoch == register.epoch_count, "trading: not the latest epoch"
    proving: ledger.Phase = ledger.Phase.PUBLISHED | ledger.Phase.PROVED
    assert register._phase_of(epoch) in proving, "trading: wrong phase"
    return ISampled.Publication(
        number=self.number, listed=self.listed, nonces=self.nonces, base=register.base, next=register.next
    )


@external
@view
def is_of(epoch: uint256, provider: address, commitment: bytes32, seal: bytes32) -> bool:
    """
    @notice Whether a bought provider bound itself to this.
    @param epoch The epoch.
    @param provider The provider.
    @param commitment keccak of what an update was committed to.
    @param seal keccak(root of the sealed update, keccak(key)).
    @return Whether it did.
    """
    return exchange._is_of(epoch, provider, commitment, seal)


@internal
@view
def _from_prover(epoch: uint256, phases: ledger.Phase):
    assert msg.sender == PROVER.address, "trading: only the prover"
    assert register._phase_of(epoch) in phases, "trading: wrong phase"
