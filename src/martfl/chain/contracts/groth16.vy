# pragma version 0.4.3
"""
@title Groth16 on BN254 by the precompiles of EIP-196 and EIP-197.
@notice The key is 14 words (alpha; beta, gamma, delta with the imaginary part first), then two for each point IC_0, IC_1, ...
"""

ADD: constant(address) = 0x0000000000000000000000000000000000000006
MULTIPLY: constant(address) = 0x0000000000000000000000000000000000000007
PAIRING: constant(address) = 0x0000000000000000000000000000000000000008
FIELD: constant(uint256) = 21888242871839275222246405745257275088548364400416034343698204186575808495617
BASE: constant(uint256) = 21888242871839275222246405745257275088696311157297823662689037894645226208583
MAX_INPUTS: constant(uint256) = 164
MAX_KEY: constant(uint256) = 14 + 2 * 165


@internal
@view
def holds(key: DynArray[uint256, MAX_KEY], inputs: DynArray[uint256, MAX_INPUTS], proof: uint256[8]) -> bool:
    # e(-A, B) e(alpha, beta) e(IC_0 + sum of x_i IC_i, gamma) e(C, delta) = 1; points that are none fail the call.
    if len(key) != 16 + 2 * len(inputs) or proof[1] >= BASE:
        return False
    sum: uint256[2] = [key[14], key[15]]
    at: uint256 = 16
    for x: uint256 in inputs:
        assert x < FIELD, "prover: input is not in the field"
        term: Bytes[64] = raw_call(MULTIPLY, abi_encode(key[at], key[at + 1], x), max_outsize=64, is_static_call=True)
        sum = abi_decode(
            raw_call(ADD, concat(term, abi_encode(sum)), max_outsize=64, is_static_call=True), uint256[2]
        )
        at += 2
    ok: bool = False
    out: Bytes[32] = b""
    ok, out = raw_call(
        PAIRING,
        abi_encode(
            proof[0], (BASE - proof[1]) % BASE, proof[2], proof[3], proof[4], proof[5],
            key[0], key[1], key[2], key[3], key[4], key[5],
            sum, key[6], key[7], key[8], key[9],
            proof[6], proof[7], key[10], key[11], key[12], key[13],
        ),
        max_outsize=32,
        is_static_call=True,
        revert_on_failure=False,
    )
    return ok and convert(out, uint256) == 1
