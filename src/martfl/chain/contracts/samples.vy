# pragma version 0.4.3
"""
@title Which parameters are sampled, how they are opened from a Merkle root, and how they are packed and hashed.
@notice The same rules as in `martfl.settlement.sampled`: strata, trees with a cap of 64 nodes, 252 bits of slots in a
        word, Poseidon with circomlib's constants.
"""

import words

WORD_BITS: constant(uint256) = 252
MODEL_BITS: constant(uint256) = 24
MODEL_SLOTS: constant(uint256) = 10
CAP_HEIGHT: constant(uint256) = 6
CAP_BYTES: constant(uint256) = 32 * 64
MAX_PATH: constant(uint256) = 14
MAX_WORDS: constant(uint256) = (words.MAX_SAMPLES + MODEL_SLOTS - 1) // MODEL_SLOTS
MAX_OPENING: constant(uint256) = 32 * (2 + 2 * MAX_PATH)
MAX_WIDTH: constant(uint256) = 8        # Poseidon's state: seven words of samples and the blinding
FULL_ROUNDS: constant(uint256) = 8
MAX_CONSTANTS: constant(uint256) = 640  # 72 rounds of 8, and the matrix


struct Draw:
    randomness: bytes32
    parameters: uint256
    samples: uint256


@internal
@pure
def opened_words(
    draw: Draw,
    old_cap: Bytes[CAP_BYTES],
    new_cap: Bytes[CAP_BYTES],
    openings: DynArray[Bytes[MAX_OPENING], words.MAX_SAMPLES],
) -> DynArray[uint256, 2 * MAX_WORDS]:
    # The sampled values of the old model, packed, then those of the new one. Openings: old word, new word, both paths.
    depth: uint256 = self.depth(draw.parameters, MODEL_BITS)
    path: uint256 = depth - min(CAP_HEIGHT, depth)
    assert len(openings) == draw.samples, "prover: one opening for each sample"
    olds: DynArray[uint256, 2 * MAX_WORDS] = []
    news: DynArray[uint256, MAX_WORDS] = []
    old_word: uint256 = 0
    new_word: uint256 = 0
    for j: uint256 in range(draw.samples, bound=words.MAX_SAMPLES):
        index: uint256 = self.index(draw.randomness, j, draw.parameters, draw.samples)
        leaf: uint256 = index // MODEL_SLOTS
        old: bytes32 = extract32(openings[j], 0)
        new: bytes32 = extract32(openings[j], 32)
        top: bytes32 = self.climb(old, leaf, openings[j], 64, path)
        assert top == extract32(old_cap, 32 * (leaf >> path)), "prover: path does not lead to the old root"
        top = self.climb(new, leaf, openings[j], 64 + 32 * path, path)
        assert top == extract32(new_cap, 32 * (leaf >> path)), "prover: path does not lead to the new root"
        place: uint256 = MODEL_BITS * (j % MODEL_SLOTS)
        old_word |= self.value(old, index, MODEL_BITS) << place
        new_word |= self.value(new, index, MODEL_BITS) << place
        if j % MODEL_SLOTS == MODEL_SLOTS - 1 or j == draw.samples - 1:
            olds.append(old_word)
            news.append(new_word)
            old_word = 0
            new_word = 0
    for word: uint256 in news:
        olds.append(word)
    return olds


@internal
@pure
def opened_commitment(
    draw: Draw,
    blinding: uint256,
    cap: Bytes[CAP_BYTES],
    openings: DynArray[Bytes[MAX_OPENING], words.MAX_SAMPLES],
    constants: DynArray[uint256, MAX_CONSTANTS],
) -> uint256:
    # Poseidon of a provider's sampled values. Openings: word, salt, path.
    depth: uint256 = self.depth(draw.parameters, words.UPDATE_BITS)
    path: uint256 = depth - min(CAP_HEIGHT, depth)
    assert len(openings) == draw.samples, "prover: one opening for each sample"
    packed: DynArray[uint256, MAX_WIDTH - 1] = []
    word: uint256 = 0
    for j: uint256 in range(draw.samples, bound=words.MAX_SAMPLES):
        index: uint256 = self.index(draw.randomness, j, draw.parameters, draw.samples)
        leaf: uint256 = index // words.UPDATE_SLOTS
        top: bytes32 = self.climb(keccak256(slice(openings[j], 0, 64)), leaf, openings[j], 64, path)
        assert top == extract32(cap, 32 * (leaf >> path)), "prover: path does not lead to the provider's root"
        word |= self.value(extract32(openings[j], 0), index, words.UPDATE_BITS) << (words.UPDATE_BITS * (j % words.UPDATE_SLOTS))
        if j % words.UPDATE_SLOTS == words.UPDATE_SLOTS - 1 or j == draw.samples - 1:
            packed.append(word)
            word = 0
    packed.append(blinding)
    return self.poseidon(packed, constants)


@internal
@pure
def depth(parameters: uint256, bits: uint256) -> uint256:
    # Of the tree over ceil(parameters / slots) words.
    slots: uint256 = WORD_BITS // bits
    leaves: uint256 = (parameters + slots - 1) // slots
    height: uint256 = 0
    for i: uint256 in range(32):
        if (1 << height) >= leaves:
            break
        height += 1
    return height


@internal
@pure
def index(randomness: bytes32, j: uint256, parameters: uint256, samples: uint256) -> uint256:
    # One from [j*m/c, (j+1)*m/c); draws above the last whole multiple of its size are skipped.
    start: uint256 = j * parameters // samples
    size: uint256 = (j + 1) * parameters // samples - start
    excess: uint256 = (max_value(uint256) % size + 1) % size     # 2^256 mod size
    for attempt: uint256 in range(8):
        drawn: uint256 = convert(keccak256(concat(randomness, convert(j, bytes32), convert(attempt, bytes32))), uint256)
        if drawn <= max_value(uint256) - excess:
            return start + drawn % size
    raise "prover: randomness is not random"


@internal
@pure
def climb(node: bytes32, leaf: uint256, opening: Bytes[MAX_OPENING], start: uint256, count: uint256) -> bytes32:
    # From a leaf's node over `count` siblings up to the cap.
    at: uint256 = leaf
    this: bytes32 = node
    for i: uint256 in range(count, bound=MAX_PATH):
        sibling: bytes32 = extract32(opening, unsafe_add(start, unsafe_mul(32, i)))  # start and 32 * 14 are below 2^11
        if at & 1 == 1:
            this = keccak256(abi_encode(sibling, this))
        else:
            this = keccak256(abi_encode(this, sibling))
        at = at >> 1
    return this


@internal
@pure
def value(word: bytes32, index: uint256, bits: uint256) -> uint256:
    return (convert(word, uint256) >> (bits * (index % (WORD_BITS // bits)))) & ((1 << bits) - 1)


@internal
@pure
def poseidon(inputs: DynArray[uint256, MAX_WIDTH - 1], constants: DynArray[uint256, MAX_CONSTANTS]) -> uint256:
    # state <- M * S(state + c); the S-box x^5 acts on all elements in the outer rounds, on the first in the inner ones.
    width: uint256 = len(inputs) + 1
    rounds: uint256 = len(constants) // width - width
    state: uint256[MAX_WIDTH] = empty(uint256[MAX_WIDTH])
    for i: uint256 in range(width - 1, bound=MAX_WIDTH):
        state[i + 1] = inputs[i]
    for r: uint256 in range(rounds, bound=MAX_CONSTANTS):
        full: bool = r < FULL_ROUNDS // 2 or r >= rounds - FULL_ROUNDS // 2
        for i: uint256 in range(width, bound=MAX_WIDTH):
            x: uint256 = uint256_addmod(state[i], constants[r * width + i], words.FIELD)
            if full or i == 0:
                square: uint256 = uint256_mulmod(x, x, words.FIELD)
                x = uint256_mulmod(uint256_mulmod(square, square, words.FIELD), x, words.FIELD)
            state[i] = x
        mixed: uint256[MAX_WIDTH] = empty(uint256[MAX_WIDTH])
        for i: uint256 in range(width, bound=MAX_WIDTH):
            total: uint256 = 0
            for k: uint256 in range(width, bound=MAX_WIDTH):
                term: uint256 = uint256_mulmod(constants[(rounds + i) * width + k], state[k], words.FIELD)
                total = uint256_addmod(total, term, words.FIELD)
            mixed[i] = total
        state = mixed
    return state[0]
