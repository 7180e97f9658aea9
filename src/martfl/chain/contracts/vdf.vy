# pragma version 0.4.3
"""
@title Wesolowski's verifiable delay function in (Z/N)*/{1, -1}, N the RSA-2048 challenge number.
@notice y = x^(2^T) is accepted iff pi^l * x^(2^T mod l) = y (mod N) for the prime l that x, y and T hash to.
@dev All powers by MODEXP (EIP-198): three words of lengths, then base, exponent, modulus. No call limits the precompile's
     gas: prices may change, this code cannot. l has 264 bits, 33 bytes; `martfl.settlement.sampled.vdf` says why.
"""

MODEXP: constant(address) = 0x0000000000000000000000000000000000000005
N: constant(Bytes[256]) = x"c7970ceedcc3b0754490201a7aa613cd73911081c790f5f1a8726f463550bb5b7ff0db8e1ea1189ec72f93d1650011bd721aeeacc2acde32a04107f0648c2813a31f5b0b7765ff8b44b4b6ffc93384b646eb09c7cf5e8592d40ea33c80039f35b4f14a04b51f7bfd781be4d1673164ba8eb991c2c4d730bbbe35f592bdef524af7e8daefd26c66fc02c479af89d64d373f442709439de66ceb955f3ea37d5159f6135809f85334b5cb1813addc80cd05609f10ac6a95ad65872c909525bdad32bc729592642920f24c61dc5b3c3b7923e56b16a4d9d373d8721f24a3fc0f1b3131f55615172866bccc30f95054c824e733a5eb6817f7bc16399d48c6361cc7e5"
N_TOP: constant(uint256) = 90277140035524221660126148258557061379123285308658989704672391004821614803803     # the first word of N
HALF_TOP: constant(uint256) = 45138570017762110830063074129278530689561642654329494852336195502410807401901  # the first word of N / 2
POWER: constant(Bytes[96]) = x"000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000210000000000000000000000000000000000000000000000000000000000000100"
SQUARE_9: constant(Bytes[96]) = x"000000000000000000000000000000000000000000000000000000000000012000000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000100"
SQUARE_8: constant(Bytes[96]) = x"000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000100"
WITNESS: constant(Bytes[96]) = x"000000000000000000000000000000000000000000000000000000000000002100000000000000000000000000000000000000000000000000000000000000210000000000000000000000000000000000000000000000000000000000000021"
REST: constant(Bytes[97]) = x"00000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000008000000000000000000000000000000000000000000000000000000000000002102"
ONE: constant(Bytes[33]) = x"000000000000000000000000000000000000000000000000000000000000000001"
ROUNDS: constant(uint256) = 12       # Miller-Rabin; the bases come from a hash of l
MAX_COUNTER: constant(uint256) = 4096
MIN_STEPS: constant(uint256) = 264    # fewer squarings than l has bits prove nothing


@internal
@view
def holds(seed: bytes32, steps: uint256, y: uint256[8], pi: uint256[8], counter: uint256) -> bool:
    # Out of range: y and N - y stand for one element, of which the lower counts; 0 would satisfy the equation, with pi = 0.
    # (The comparison of first words refuses a 2^-255th of the right values too.)
    if counter >= MAX_COUNTER or y[0] == 0 or y[0] >= HALF_TOP or pi[0] >= N_TOP:
        return False
    x: uint256[8] = self._element(seed)
    high: uint256 = 0
    low: uint256 = 0
    high, low = self._challenge(x, y, steps, counter)
    if not self._is_prime(high, low):
        return False
    l: Bytes[33] = self._bytes(high, low)
    rest: Bytes[33] = raw_call(
        MODEXP, concat(REST, convert(convert(steps, uint64), bytes8), l), max_outsize=33, is_static_call=True
    )
    return self._product_is(self._power(pi, l), self._power(x, rest), y)


@internal
@pure
def _element(seed: bytes32) -> uint256[8]:
    # 2047 bits of hash: below N.
    x: uint256[8] = empty(uint256[8])
    for i: uint256 in range(8):
        x[i] = convert(keccak256(concat(seed, convert(i, bytes32))), uint256)
    x[0] = (x[0] << 1) >> 1
    return x


@internal
@pure
def _challenge(x: uint256[8], y: uint256[8], steps: uint256, counter: uint256) -> (uint256, uint256):
    # l = high * 2^256 + low: 264 bits with the top bit set, 3 modulo 4
    inner: bytes32 = keccak256(concat(abi_encode(x), abi_encode(y), convert(steps, bytes32)))
    high: uint256 = convert(keccak256(abi_encode(inner, counter, empty(uint256))), uint256)
    low: uint256 = convert(keccak256(abi_encode(inner, counter, convert(1, uint256))), uint256)
    return high & 255 | 128, low | 3


@internal
@view
def _is_prime(high: uint256, low: uint256) -> bool:
    # For l = 3 (mod 4) a round of Miller-Rabin is a^((l-1)/2) = 1 or -1. l is odd: halving drops the last bit, and l - 1
    # borrows nothing.
    tail: Bytes[66] = concat(self._bytes(high >> 1, low >> 1 | high << 255), self._bytes(high, low))
    minus: bytes32 = keccak256(self._bytes(high, unsafe_sub(low, 1)))  # low is odd
    for i: uint256 in range(ROUNDS):
        a: bytes32 = keccak256(abi_encode(high, low, i))
        base: Bytes[33] = concat(slice(a, 31, 1), keccak256(a))
        power: bytes32 = keccak256(
            raw_call(MODEXP, concat(WITNESS, base, tail), max_outsize=33, is_static_call=True)
        )
        if power != keccak256(ONE) and power != minus:
            return False
    return True


@internal
@view
def _power(base: uint256[8], exponent: Bytes[33]) -> uint256[8]:
    return abi_decode(
        raw_call(
            MODEXP,
            concat(POWER, abi_encode(base), exponent, N),
            max_outsize=256,
            is_static_call=True,
        ),
        uint256[8],
    )


@internal
@pure
def _bytes(high: uint256, low: uint256) -> Bytes[33]:
    return concat(convert(convert(high, uint8), bytes1), convert(low, bytes32))


@internal
@view
def _product_is(a: uint256[8], b: uint256[8], y: uint256[8]) -> bool:
    # No multiplication of 2048 bits is at hand, but squares are: a*b = y  <=>  (a+b)^2 = (a-b)^2 + 4y  (mod N, N odd).
    less: bool = False
    for i: uint256 in range(8):
        if a[i] != b[i]:
            less = a[i] < b[i]
            break
    total: uint256[9] = empty(uint256[9])
    apart: uint256[8] = empty(uint256[8])
    carry: uint256 = 0
    borrow: uint256 = 0
    for j: uint256 in range(8):
        i: uint256 = 7 - j
        high: uint256 = b[i] if less else a[i]
        low: uint256 = a[i] if less else b[i]
        t: uint256 = unsafe_add(high, low)  # modulo 2^256; `carry` is what is lost
        total[i + 1] = unsafe_add(t, carry)  # likewise
        carry = convert(t < high, uint256) | convert(total[i + 1] < t, uint256)
        t = unsafe_sub(high, low)  # modulo 2^256; `borrow` is what is missing
        apart[i] = unsafe_sub(t, borrow)  # likewise
        borrow = convert(high < low, uint256) | convert(t < borrow, uint256)
    total[0] = carry
    left: bytes32 = keccak256(
        raw_call(MODEXP, concat(SQUARE_9, abi_encode(total), x"02", N), max_outsize=256, is_static_call=True)
    )
    square: uint256[8] = abi_decode(
        raw_call(MODEXP, concat(SQUARE_8, abi_encode(apart), x"02", N), max_outsize=256, is_static_call=True), uint256[8]
    )
    carry = 0
    shifted_out: uint256 = 0
    for j: uint256 in range(8):
        i: uint256 = 7 - j
        four: uint256 = (y[i] << 2) | shifted_out
        shifted_out = y[i] >> 254
        t: uint256 = unsafe_add(square[i], four)  # modulo 2^256; `carry` is what is lost
        total[i + 1] = unsafe_add(t, carry)  # likewise
        carry = convert(t < four, uint256) | convert(total[i + 1] < t, uint256)
    total[0] = carry + shifted_out
    return left == keccak256(
        raw_call(MODEXP, concat(SQUARE_9, abi_encode(total), x"01", N), max_outsize=256, is_static_call=True)
    )
