# pragma version 0.4.3
"""
@title Which parameters are sampled, how they are opened from a Merkle root, and how they are packed and hashed.
@notice The same rules as in `martfl.settlement.sampled`: strata, trees with a cap of 64 nodes, 252 bits of slots in a
        word, Poseidon with circomlib's constants.
"""

WORD_BITS: constant(uint256) = 252
CAP_HEIGHT: constant(uint256) = 6
MAX_PATH: constant(uint256) = 14
MAX_OPENING: constant(uint256) = 32 * (2 + 2 * MAX_PATH)
MAX_WIDTH: constant(uint256) = 8        # Poseidon's state: seven words of samples and the blinding
FULL_ROUNDS: constant(uint256) = 8
MAX_CONSTANTS: constant(uint256) = 640  # 72 rounds of 8, and the matrix
FIELD: constant(uint256) = 21888242871839275222246405745257275088548364400416034343698204186575808495617


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
    raise "trading: randomness is not random"


@internal
@pure
def climb(node: bytes32, leaf: uint256, opening: Bytes[MAX_OPENING], start: uint256, count: uint256) -> bytes32:
    # From a leaf's node over `count` siblings up to the cap.
    at: uint256 = leaf
    this: bytes32 = node
    for i: uint256 in range(count, bound=MAX_PATH):
        sibling: bytes32 = extract32(opening, unsafe_add(start, unsafe_mul(32, i)))
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
            x: uint256 = uint256_addmod(state[i], constants[r * width + i], FIELD)
            if full or i == 0:
                square: uint256 = uint256_mulmod(x, x, FIELD)
                x = uint256_mulmod(uint256_mulmod(square, square, FIELD), x, FIELD)
            state[i] = x
        mixed: uint256[MAX_WIDTH] = empty(uint256[MAX_WIDTH])
        for i: uint256 in range(width, bound=MAX_WIDTH):
            total: uint256 = 0
            for k: uint256 in range(width, bound=MAX_WIDTH):
                term: uint256 = uint256_mulmod(constants[(rounds + i) * width + k], state[k], FIELD)
                total = uint256_addmod(total, term, FIELD)
            mixed[i] = total
        state = mixed
    return state[0]
