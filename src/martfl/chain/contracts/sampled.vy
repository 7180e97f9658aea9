# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title Trading with sampled settlement, after the paper: a Groth16 proof about randomly drawn parameters.
@notice Root of the new model -> seed -> delay function -> indices -> sampled values opened from both roots -> proof. The
        contract assembles the public inputs itself: weights as prepared, values as opened, commitments as posted.

Trust assumptions beside those of `market.vy`
- Whoever made the verifying key could forge proofs; the key is fixed by its hash.
- The factors of RSA-2048 are unknown and the delay is longer than anybody can wait before a block is built.
- A cheat on a share f of the parameters goes unseen with probability (1 - f)^samples.
- A provider whose posted commitment is not about its update refutes it within the window after `commit_inputs`.
- The code at the address of the proofs is what `proofs.vy` compiles to; a provider checks this before it joins.
- In optimistic markets somebody recomputes the delay function and challenges a false output within the same window.
"""

import groth16
import ledger
import market
import samples

initializes: market

interface Proofs:
    def delay_holds(seed: bytes32, steps: uint256, output: uint256[8], proof: uint256[8], counter: uint256) -> bool: view
    def groth16_holds(
        key: DynArray[uint256, groth16.MAX_KEY], inputs: DynArray[uint256, groth16.MAX_INPUTS], proof: uint256[8]
    ) -> bool: view
    def poseidon(
        inputs: DynArray[uint256, samples.MAX_WIDTH - 1], constants: DynArray[uint256, samples.MAX_CONSTANTS]
    ) -> uint256: pure

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

SCHEME: public(constant(String[8])) = "sampled"
DOMAIN: constant(Bytes[18]) = b"martfl/sampling/v1"
MODEL_BITS: constant(uint256) = 24
UPDATE_BITS: constant(uint256) = 12
WEIGHT_BITS: constant(uint256) = 17
MODEL_SLOTS: constant(uint256) = 10
UPDATE_SLOTS: constant(uint256) = 21
WEIGHT_SLOTS: constant(uint256) = 14
MAX_SAMPLES: constant(uint256) = 126
CAP_BYTES: constant(uint256) = 32 * 64


struct Sampling:
    providers: uint256         # slots of the circuit
    samples: uint256
    parameters: uint256
    vdf_steps: uint256
    verifying_key: bytes32     # hash of the key's words
    empty_commitment: uint256  # stands in unused slots
    poseidon: bytes32          # hash of Poseidon's constants
    root: bytes32              # of the initial model
    content: bytes32           # hash of the initial model's file
    optimistic: bool           # the delay function is checked when it is challenged
    proofs: address            # the contract of `proofs.vy`


event RootPublished:
    epoch: indexed(uint256)
    content: indexed(bytes32)
    root: bytes32
    nonce: bytes32
    seed: bytes32

event RandomnessSubmitted:
    epoch: indexed(uint256)
    randomness: bytes32
    output: uint256[8]
    proof: uint256[8]
    counter: uint256

event InputsCommitted:
    epoch: indexed(uint256)
    providers: DynArray[address, market.MAX]
    inputs: DynArray[uint256, groth16.MAX_INPUTS]

event EpochProved:
    epoch: indexed(uint256)

event CommitmentRefuted:
    epoch: indexed(uint256)
    provider: indexed(address)


SLOTS: immutable(uint256)
SAMPLES: immutable(uint256)
PARAMETERS: immutable(uint256)
STEPS: immutable(uint256)
KEY: immutable(bytes32)
EMPTY: immutable(uint256)
POSEIDON: immutable(bytes32)
OPTIMISTIC: immutable(bool)
PROOFS: immutable(Proofs)
MODEL_DEPTH: immutable(uint256)
UPDATE_DEPTH: immutable(uint256)

# All of the latest epoch.
rolled: bytes32              # over roots and nonces as they were committed
seed: public(bytes32)        # input of the delay function
randomness: public(bytes32)  # its output, hashed
output: bytes32              # hash of what was submitted, for challenges
inputs: bytes32              # hash of slots and public inputs


@deploy
def __init__(terms: market.Terms, sampling: Sampling):
    assert sampling.providers > 0 and sampling.providers <= market.MAX, "trading: slots must be 1 to 128"
    assert sampling.samples > 0 and sampling.samples <= MAX_SAMPLES, "trading: samples must be 1 to 126"
    assert sampling.proofs.is_contract, "trading: no contract for proofs"
    assert sampling.samples <= sampling.parameters, "trading: more samples than parameters"
    assert sampling.vdf_steps > 0 and sampling.vdf_steps < 2 ** 63, "trading: steps must be 1 to 2^63 - 1"
    assert sampling.empty_commitment < groth16.FIELD, "trading: empty commitment is not in the field"
    market.__init__(terms, ledger.PROVED, sampling.providers, sampling.root)
    SLOTS = sampling.providers
    SAMPLES = sampling.samples
    PARAMETERS = sampling.parameters
    STEPS = sampling.vdf_steps
    KEY = sampling.verifying_key
    EMPTY = sampling.empty_commitment
    POSEIDON = sampling.poseidon
    OPTIMISTIC = sampling.optimistic
    PROOFS = Proofs(sampling.proofs)
    MODEL_DEPTH = samples.depth(sampling.parameters, MODEL_BITS)
    UPDATE_DEPTH = samples.depth(sampling.parameters, UPDATE_BITS)
    assert MODEL_DEPTH <= samples.CAP_HEIGHT + samples.MAX_PATH, "trading: model too large"
    # Slots that were never empty cost the first epoch no more than the next.
    self.rolled = sampling.root
    self.seed = sampling.root
    self.randomness = sampling.root
    self.inputs = sampling.root
    log RootPublished(
        epoch=0, content=sampling.content, root=sampling.root, nonce=empty(bytes32), seed=empty(bytes32)
    )


@external
@view
def sampling() -> Sampling:
    """
    @notice What this market fixed; root and content are of the initial model, in the event of epoch 0.
    """
    return Sampling(
        providers=SLOTS,
        samples=SAMPLES,
        parameters=PARAMETERS,
        vdf_steps=STEPS,
        verifying_key=KEY,
        empty_commitment=EMPTY,
        poseidon=POSEIDON,
        root=empty(bytes32),
        content=empty(bytes32),
        optimistic=OPTIMISTIC,
        proofs=PROOFS.address,
    )


@external
@payable
@nonreentrant
def new_epoch(nonce: bytes32, amount: uint256) -> uint256:
    """
    @notice Open the next epoch, with as much of the deposit as is brought along.
    """
    return market._open(nonce, amount)


@external
def commit_model(epoch: uint256, commitment: bytes32, nonce: bytes32):
    """
    @notice Bind the caller to its update of this epoch: keccak(root of its salted tree, keccak(blinding)).
    """
    before: bytes32 = self.rolled
    if market._commit(epoch, concat(commitment, b""), nonce) == 1:
        before = empty(bytes32)
    self.rolled = keccak256(concat(before, commitment, nonce))


@external
def publish_model(epoch: uint256, content: bytes32, root: bytes32, nonce: bytes32):
    """
    @notice Post the Merkle root of the new quantised model and the hash of its file, before the samples can be known.
    """
    market._only_acquirer()
    e: ledger.Epoch = market._at(epoch, ledger.PREPARED)
    assert block.timestamp <= e.deadline, "trading: too late"
    context: bytes32 = keccak256(abi_encode(chain.id, self, epoch))
    seed: bytes32 = keccak256(
        concat(DOMAIN, context, self.rolled, market.base, root, nonce, block.prevrandao)
    )
    market.next = root
    self.seed = seed
    self._enter(epoch, e, ledger.PUBLISHED)
    log RootPublished(epoch=epoch, content=content, root=root, nonce=nonce, seed=seed)


@external
def submit_randomness(epoch: uint256, output: uint256[8], proof: uint256[8], counter: uint256):
    """
    @notice Give the delay function's output. Anybody may where it is checked; in optimistic markets the acquirer answers for it.
    """
    e: ledger.Epoch = market._at(epoch, ledger.PUBLISHED)
    assert block.timestamp <= e.deadline, "trading: too late"
    if OPTIMISTIC:
        market._only_acquirer()
        self.output = keccak256(abi_encode(output, proof, counter))
    else:
        assert self._delay_holds(output, proof, counter), "trading: delay function does not verify"
    self.randomness = keccak256(abi_encode(output))
    self._enter(epoch, e, ledger.RANDOMISED)
    log RandomnessSubmitted(
        epoch=epoch, randomness=self.randomness, output=output, proof=proof, counter=counter
    )


@external
def challenge_randomness(epoch: uint256, output: uint256[8], proof: uint256[8], counter: uint256):
    """
    @notice Optimistic markets: show that what was submitted does not verify. Anybody may, until the epoch is settled.
    """
    e: ledger.Epoch = market._load(epoch)
    assert OPTIMISTIC, "trading: already verified"
    assert e.phase >= ledger.RANDOMISED and e.phase < ledger.SETTLED, "trading: wrong phase"
    assert keccak256(abi_encode(output, proof, counter)) == self.output, "trading: not what was submitted"
    assert not self._delay_holds(output, proof, counter), "trading: delay function verifies"
    market._close(epoch, e, ledger.FAILED)


@external
def commit_inputs(
    epoch: uint256,
    providers: DynArray[address, market.MAX],
    commitments: DynArray[uint256, market.MAX],
    old_cap: Bytes[CAP_BYTES],
    new_cap: Bytes[CAP_BYTES],
    openings: DynArray[Bytes[samples.MAX_OPENING], MAX_SAMPLES],
):
    """
    @notice Assemble the proof's public inputs: packed weights, old values, new values, commitments.
    @param providers All bought providers that were not dropped, in rising order: the slots of the circuit.
    @param commitments Poseidon of each one's sampled values.
    @param openings For each sample: old word, new word, old path, new path.
    """
    market._only_acquirer()
    e: ledger.Epoch = market._at(epoch, ledger.RANDOMISED)
    assert block.timestamp <= e.deadline, "trading: too late"
    assert len(commitments) == len(providers), "trading: one commitment for each provider"
    assert keccak256(old_cap) == market.base and keccak256(new_cap) == market.next, "trading: not the cap of the root"
    inputs: DynArray[uint256, groth16.MAX_INPUTS] = self._weights(epoch, providers, e.weight)
    path: uint256 = MODEL_DEPTH - min(samples.CAP_HEIGHT, MODEL_DEPTH)
    assert len(openings) == SAMPLES, "trading: one opening for each sample"
    new_values: DynArray[uint256, (MAX_SAMPLES + MODEL_SLOTS - 1) // MODEL_SLOTS] = []
    old_word: uint256 = 0
    new_word: uint256 = 0
    randomness: bytes32 = self.randomness
    for j: uint256 in range(SAMPLES, bound=MAX_SAMPLES):
        index: uint256 = samples.index(randomness, j, PARAMETERS, SAMPLES)
        leaf: uint256 = index // MODEL_SLOTS
        old: bytes32 = extract32(openings[j], 0)
        new: bytes32 = extract32(openings[j], 32)
        top: bytes32 = samples.climb(old, leaf, openings[j], 64, path)
        assert top == extract32(old_cap, 32 * (leaf >> path)), "trading: path does not lead to the old root"
        top = samples.climb(new, leaf, openings[j], 64 + 32 * path, path)
        assert top == extract32(new_cap, 32 * (leaf >> path)), "trading: path does not lead to the new root"
        place: uint256 = MODEL_BITS * (j % MODEL_SLOTS)
        old_word |= samples.value(old, index, MODEL_BITS) << place
        new_word |= samples.value(new, index, MODEL_BITS) << place
        if j % MODEL_SLOTS == MODEL_SLOTS - 1 or j == SAMPLES - 1:
            inputs.append(old_word)
            new_values.append(new_word)
            old_word = 0
            new_word = 0
    for word: uint256 in new_values:
        inputs.append(word)
    for i: uint256 in range(SLOTS, bound=market.MAX):
        inputs.append(commitments[i] if i < len(commitments) else EMPTY)
    self.inputs = keccak256(abi_encode(providers, inputs))
    self._enter(epoch, e, ledger.INPUTS)
    log InputsCommitted(epoch=epoch, providers=providers, inputs=inputs)


@external
def verify_aggregation(
    epoch: uint256,
    providers: DynArray[address, market.MAX],
    inputs: DynArray[uint256, groth16.MAX_INPUTS],
    key: DynArray[uint256, groth16.MAX_KEY],
    proof: uint256[8],
):
    """
    @notice Check the proof of the committed inputs under the market's key. Anybody may call. The epoch is settled when the
            window for refutations ends.
    """
    e: ledger.Epoch = market._at(epoch, ledger.INPUTS)
    assert block.timestamp <= e.deadline, "trading: too late"
    assert keccak256(abi_encode(providers, inputs)) == self.inputs, "trading: not the committed inputs"
    assert keccak256(slice(abi_encode(key), 64, 32 * len(key))) == KEY, "trading: not the market's key"
    assert staticcall PROOFS.groth16_holds(key, inputs, proof), "trading: proof does not verify"
    e.phase = ledger.PROVED
    market.epochs[epoch] = ledger.pack(e)
    log EpochProved(epoch=epoch)


@external
def refute_commitment(
    epoch: uint256,
    providers: DynArray[address, market.MAX],
    inputs: DynArray[uint256, groth16.MAX_INPUTS],
    position: uint256,
    blinding: uint256,
    cap: Bytes[CAP_BYTES],
    openings: DynArray[Bytes[samples.MAX_OPENING], MAX_SAMPLES],
    constants: DynArray[uint256, samples.MAX_CONSTANTS],
):
    """
    @notice Show that the commitment posted for a provider is not that of the update it bound itself to. The acquirer then
            loses its penalty.
    @param openings For each sample: word, salt, path in the provider's tree.
    @param constants Poseidon's, round by round, then the matrix.
    """
    e: ledger.Epoch = market._load(epoch)
    assert e.phase == ledger.INPUTS or e.phase == ledger.PROVED, "trading: wrong phase"
    assert block.timestamp <= e.deadline, "trading: too late"
    assert keccak256(abi_encode(providers, inputs)) == self.inputs, "trading: not the committed inputs"
    assert keccak256(slice(abi_encode(constants), 64, 32 * len(constants))) == POSEIDON, "trading: not Poseidon's constants"
    assert blinding < groth16.FIELD, "trading: blinding is not in the field"
    bound: bytes32 = keccak256(concat(keccak256(cap), keccak256(convert(blinding, bytes32))))
    digest: uint256 = convert(keccak256(bound), uint256)
    record: uint256 = market.records[epoch][providers[position]]
    assert record & ledger.DIGEST == digest & ledger.DIGEST, "trading: not the provider's root"
    path: uint256 = UPDATE_DEPTH - min(samples.CAP_HEIGHT, UPDATE_DEPTH)
    assert len(openings) == SAMPLES, "trading: one opening for each sample"
    words: DynArray[uint256, samples.MAX_WIDTH - 1] = []
    word: uint256 = 0
    randomness: bytes32 = self.randomness
    for j: uint256 in range(SAMPLES, bound=MAX_SAMPLES):
        index: uint256 = samples.index(randomness, j, PARAMETERS, SAMPLES)
        leaf: uint256 = index // UPDATE_SLOTS
        top: bytes32 = samples.climb(keccak256(slice(openings[j], 0, 64)), leaf, openings[j], 64, path)
        assert top == extract32(cap, 32 * (leaf >> path)), "trading: path does not lead to the provider's root"
        word |= samples.value(extract32(openings[j], 0), index, UPDATE_BITS) << (UPDATE_BITS * (j % UPDATE_SLOTS))
        if j % UPDATE_SLOTS == UPDATE_SLOTS - 1 or j == SAMPLES - 1:
            words.append(word)
            word = 0
    words.append(blinding)
    posted: uint256 = inputs[len(inputs) - SLOTS + position]
    assert staticcall PROOFS.poseidon(words, constants) != posted, "trading: commitment is right"
    log CommitmentRefuted(epoch=epoch, provider=providers[position])
    market._close(epoch, e, ledger.FAILED)


@internal
@view
def _weights(
    epoch: uint256, providers: DynArray[address, market.MAX], expected: uint256
) -> DynArray[uint256, groth16.MAX_INPUTS]:
    # 14 weights to a word, slot by slot; rising order keeps anybody from counting twice.
    words: DynArray[uint256, groth16.MAX_INPUTS] = []
    word: uint256 = 0
    total: uint256 = 0
    last: uint256 = 0
    for i: uint256 in range(SLOTS, bound=market.MAX):
        if i < len(providers):
            assert convert(providers[i], uint256) > last, "trading: providers must rise"
            last = convert(providers[i], uint256)
            weight: uint256 = market._seller(epoch, providers[i]) & ledger.WEIGHT
            total += weight
            word |= weight << (WEIGHT_BITS * (i % WEIGHT_SLOTS))
        if i % WEIGHT_SLOTS == WEIGHT_SLOTS - 1 or i == SLOTS - 1:
            words.append(word)
            word = 0
    assert total == expected, "trading: a bought provider is missing"
    return words


@internal
@view
def _delay_holds(output: uint256[8], proof: uint256[8], counter: uint256) -> bool:
    return staticcall PROOFS.delay_holds(self.seed, STEPS, output, proof, counter)


@internal
def _enter(epoch: uint256, e: ledger.Epoch, phase: uint256):
    entered: ledger.Epoch = e
    entered.phase = phase
    entered.deadline = block.timestamp + market.SETTLE_WINDOW
    market.epochs[epoch] = ledger.pack(entered)
