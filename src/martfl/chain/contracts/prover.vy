# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title The proof of sampled settlement: no state, no money, one copy serves all markets, each for its latest epoch.
@notice Hash of a block after publication -> delay function -> indices -> sampled values opened from both roots -> Groth16.
        The contract assembles the public inputs itself: weights as published, values as opened, commitments as posted.
        All steps fall into the market's window after publication; the market fails the epoch where they do not.

Trust assumptions
- Whoever made the verifying key could forge proofs; the market fixes the key by its hash.
- The factors of RSA-2048 are unknown, and the delay is longer than the time in which the builder of one block can choose.
- A provider whose posted commitment is not about its update refutes it before the model stands.
- In optimistic markets somebody recomputes the delay function and challenges a false output before the model stands.
"""

import groth16
import ledger
import samples
import vdf
import words
from interfaces import IProver
from interfaces import ISampled
from interfaces import ITrading

implements: IProver

WEIGHT_BITS: constant(uint256) = 17
WEIGHT_SLOTS: constant(uint256) = 14
DOMAIN: constant(Bytes[18]) = b"martfl/sampling/v2"
REACH: constant(uint256) = 256  # blocks whose hash the chain still knows


@external
def draw_samples(market: ISampled, epoch: uint256):
    """
    @notice Fix the delay function's input by the hash of the block after publication, within 256 blocks. Anybody may.
    @param market The market.
    @param epoch Its latest epoch.
    """
    about: ISampled.Publication = staticcall market.publication(epoch)
    before: ISampled.Proof = staticcall market.proof()
    assert before.epoch != epoch, "prover: samples are drawn"
    later: uint256 = about.number + 1
    assert block.number > later, "prover: the block that draws is not there yet"
    assert block.number <= later + REACH, "prover: the block that draws is out of reach"
    context: bytes32 = keccak256(abi_encode(chain.id, market, epoch))
    seed: bytes32 = keccak256(concat(DOMAIN, context, about.nonces, about.base, about.next, blockhash(later)))
    extcall market.keep(
        ISampled.Proof(
            epoch=epoch, seed=seed, randomness=empty(bytes32), output=empty(bytes32), inputs=empty(bytes32)
        )
    )
    log IProver.SamplesDrawn(market=market.address, epoch=epoch, seed=seed)


@external
def submit_randomness(market: ISampled, epoch: uint256, output: uint256[8], proof: uint256[8], counter: uint256):
    """
    @notice Give the delay function's output. Anybody may where it is checked; in optimistic markets the acquirer answers for it.
    @param market The market.
    @param epoch Its latest epoch.
    @param output y, eight words, the highest first.
    @param proof pi, likewise.
    @param counter The number of the challenge that is prime.
    """
    about: ISampled.Publication = staticcall market.publication(epoch)  # reverts where no proof is due
    state: ISampled.Proof = staticcall market.proof()
    assert state.epoch == epoch, "prover: samples are not drawn"
    assert state.randomness == empty(bytes32), "prover: randomness is known"
    fixed: ISampled.Sampling = staticcall market.sampling()
    if fixed.optimistic:
        self._only_acquirer(market)
    else:
        holds: bool = vdf.holds(state.seed, fixed.vdf_steps, output, proof, counter)
        assert holds, "prover: delay function does not verify"
    state.randomness = keccak256(abi_encode(output))
    state.output = keccak256(abi_encode(output, proof, counter))
    extcall market.keep(state)
    log IProver.RandomnessSubmitted(
        market=market.address, epoch=epoch, randomness=state.randomness, output=output, proof=proof, counter=counter
    )


@external
def challenge_randomness(market: ISampled, epoch: uint256, output: uint256[8], proof: uint256[8], counter: uint256):
    """
    @notice Optimistic markets: show that what was submitted does not verify. Anybody may, until the model stands. The
            acquirer then loses its penalty.
    @param market The market.
    @param epoch Its latest epoch.
    @param output As submitted.
    @param proof As submitted.
    @param counter As submitted.
    """
    fixed: ISampled.Sampling = staticcall market.sampling()
    assert fixed.optimistic, "prover: already verified"
    state: ISampled.Proof = staticcall market.proof()
    submitted: bytes32 = keccak256(abi_encode(output, proof, counter))
    assert state.epoch == epoch and state.output == submitted, "prover: not what was submitted"
    holds: bool = vdf.holds(state.seed, fixed.vdf_steps, output, proof, counter)
    assert not holds, "prover: delay function verifies"
    extcall market.failed(epoch)
    log IProver.RandomnessRefuted(market=market.address, epoch=epoch)


@external
def commit_inputs(
    market: ISampled,
    epoch: uint256,
    providers: DynArray[address, ledger.MAX],
    weights: DynArray[uint256, ledger.MAX],
    commitments: DynArray[uint256, ledger.MAX],
    old_cap: Bytes[samples.CAP_BYTES],
    new_cap: Bytes[samples.CAP_BYTES],
    openings: DynArray[Bytes[samples.MAX_OPENING], words.MAX_SAMPLES],
):
    """
    @notice Assemble the proof's public inputs: packed weights, old values, new values, commitments. The acquirer alone, once.
    @param market The market.
    @param epoch Its latest epoch.
    @param providers As published: the slots of the circuit.
    @param weights As published.
    @param commitments Poseidon of each one's sampled values.
    @param old_cap The nodes below the old model's root.
    @param new_cap The nodes below the new model's root.
    @param openings For each sample: old word, new word, old path, new path.
    """
    self._only_acquirer(market)
    about: ISampled.Publication = staticcall market.publication(epoch)
    fixed: ISampled.Sampling = staticcall market.sampling()
    state: ISampled.Proof = staticcall market.proof()
    assert state.epoch == epoch and state.randomness != empty(bytes32), "prover: randomness is not known"
    assert state.inputs == empty(bytes32), "prover: inputs are committed"
    assert keccak256(abi_encode(providers, weights)) == about.listed, "prover: not who was published"
    assert len(commitments) == len(providers), "prover: one commitment for each provider"
    assert keccak256(old_cap) == about.base and keccak256(new_cap) == about.next, "prover: not the cap of the root"
    inputs: DynArray[uint256, groth16.MAX_INPUTS] = []
    word: uint256 = 0
    for i: uint256 in range(fixed.providers, bound=ledger.MAX):
        if i < len(weights):
            word |= weights[i] << (WEIGHT_BITS * (i % WEIGHT_SLOTS))
        if i % WEIGHT_SLOTS == WEIGHT_SLOTS - 1 or i == fixed.providers - 1:
            inputs.append(word)
            word = 0
    opened: DynArray[uint256, 2 * samples.MAX_WORDS] = samples.opened_words(
        self._draw(fixed, state), old_cap, new_cap, openings
    )
    for value: uint256 in opened:
        inputs.append(value)
    for i: uint256 in range(fixed.providers, bound=ledger.MAX):
        inputs.append(commitments[i] if i < len(commitments) else fixed.empty_commitment)
    state.inputs = keccak256(abi_encode(providers, inputs))
    extcall market.keep(state)
    log IProver.InputsCommitted(market=market.address, epoch=epoch, providers=providers, inputs=inputs)


@external
def verify_aggregation(
    market: ISampled,
    epoch: uint256,
    providers: DynArray[address, ledger.MAX],
    inputs: DynArray[uint256, groth16.MAX_INPUTS],
    key: DynArray[uint256, groth16.MAX_KEY],
    proof: uint256[8],
):
    """
    @notice Check the proof of the committed inputs under the market's key. Anybody may call. The model stands when the
            market's window for refutations ends.
    @param market The market.
    @param epoch Its latest epoch.
    @param providers As committed.
    @param inputs As committed.
    @param key The verifying key's words.
    @param proof A, B, C as EIP-197 wants them.
    """
    self._with_inputs(market, epoch, providers, inputs)
    fixed: ISampled.Sampling = staticcall market.sampling()
    assert keccak256(slice(abi_encode(key), 64, 32 * len(key))) == fixed.verifying_key, "prover: not the market's key"
    assert groth16.holds(key, inputs, proof), "prover: proof does not verify"
    extcall market.proved(epoch)


@external
def refute_commitment(
    market: ISampled,
    epoch: uint256,
    providers: DynArray[address, ledger.MAX],
    inputs: DynArray[uint256, groth16.MAX_INPUTS],
    position: uint256,
    seal: bytes32,
    blinding: uint256,
    cap: Bytes[samples.CAP_BYTES],
    openings: DynArray[Bytes[samples.MAX_OPENING], words.MAX_SAMPLES],
    constants: DynArray[uint256, samples.MAX_CONSTANTS],
):
    """
    @notice Show that the commitment posted for a provider is not that of the update it bound itself to. The acquirer then
            loses its penalty. Anybody may, from `commit_inputs` until the model stands.
    @param market The market.
    @param epoch Its latest epoch.
    @param providers As committed.
    @param inputs As committed.
    @param position Of the provider.
    @param seal keccak(root, keccak(key)) of its sealed update.
    @param blinding Of its samples.
    @param cap The nodes below the root of its salted tree.
    @param openings For each sample: word, salt, path in the provider's tree.
    @param constants Poseidon's, round by round, then the matrix.
    """
    state: ISampled.Proof = self._with_inputs(market, epoch, providers, inputs)
    fixed: ISampled.Sampling = staticcall market.sampling()
    hashed: bytes32 = keccak256(slice(abi_encode(constants), 64, 32 * len(constants)))
    assert hashed == fixed.poseidon, "prover: not Poseidon's constants"
    assert blinding < groth16.FIELD, "prover: blinding is not in the field"
    bound: bytes32 = keccak256(concat(keccak256(cap), keccak256(convert(blinding, bytes32))))
    provider: address = providers[position]
    assert staticcall market.is_of(epoch, provider, keccak256(bound), seal), "prover: not the provider's root"
    draw: samples.Draw = self._draw(fixed, state)
    right: uint256 = samples.opened_commitment(draw, blinding, cap, openings, constants)
    assert right != inputs[len(inputs) - fixed.providers + position], "prover: commitment is right"
    extcall market.failed(epoch)
    log IProver.CommitmentRefuted(market=market.address, epoch=epoch, provider=provider)


@external
@view
def root_of_false(parameters: uint256, key: bytes32, leaf: words.Leaf) -> bytes32:
    """
    @notice The root of the sealed update that a false leaf belongs to. Reverts where the leaf is what it was committed to.
    @param parameters Of the model.
    @param key The key that opens the update.
    @param leaf The leaf and its place in the tree.
    @return The root.
    """
    return words.root_of_false(parameters, key, leaf)


@external
@view
def delay_holds(seed: bytes32, steps: uint256, output: uint256[8], proof: uint256[8], counter: uint256) -> bool:
    """
    @notice Whether `output` is the delay function of `seed`.
    @param seed The input.
    @param steps How many squarings.
    @param output y, eight words, the highest first.
    @param proof pi, likewise.
    @param counter The number of the challenge that is prime.
    @return Whether it holds.
    """
    return vdf.holds(seed, steps, output, proof, counter)


@external
@view
def groth16_holds(
    key: DynArray[uint256, groth16.MAX_KEY], inputs: DynArray[uint256, groth16.MAX_INPUTS], proof: uint256[8]
) -> bool:
    """
    @notice Whether the proof shows the statement with these public inputs.
    @param key The verifying key's words.
    @param inputs The public inputs.
    @param proof A, B, C as EIP-197 wants them.
    @return Whether it holds.
    """
    return groth16.holds(key, inputs, proof)


@internal
@view
def _only_acquirer(market: ISampled):
    terms: ITrading.Terms = staticcall ITrading(market.address).terms()
    assert msg.sender == terms.acquirer, "prover: only the acquirer"


@internal
@view
def _with_inputs(
    market: ISampled,
    epoch: uint256,
    providers: DynArray[address, ledger.MAX],
    inputs: DynArray[uint256, groth16.MAX_INPUTS],
) -> ISampled.Proof:
    # The proof's state, where these are the inputs that were committed.
    state: ISampled.Proof = staticcall market.proof()
    hashed: bytes32 = keccak256(abi_encode(providers, inputs))
    assert state.epoch == epoch and state.inputs == hashed, "prover: not the committed inputs"
    return state


@internal
@pure
def _draw(fixed: ISampled.Sampling, state: ISampled.Proof) -> samples.Draw:
    return samples.Draw(randomness=state.randomness, parameters=fixed.parameters, samples=fixed.samples)
