# pragma version 0.4.3
"""
@title Points of BLS12-381 G1 as EIP-2537 writes them: 64 bytes for each coordinate, the first 16 of them zero.
@dev No call here limits the gas of a precompile: prices may change, this code cannot.
"""

G1MSM: constant(address) = 0x000000000000000000000000000000000000000C
ORDER: constant(uint256) = 52435875175126190479447740508185965837690552500527637822603658699938581184513
POINT: constant(uint256) = 128
PAIR: constant(uint256) = 160          # a point and its scalar


@internal
@view
def check(point: Bytes[128]):
    # G1MSM is the one G1 precompile that tests the subgroup: 1 * P succeeds for members only and gives P back.
    assert len(point) == POINT, "trading: point is not 128 bytes"
    ok: bool = False
    out: Bytes[128] = b""
    ok, out = raw_call(
        G1MSM, concat(point, convert(1, bytes32)), max_outsize=128, is_static_call=True, revert_on_failure=False
    )
    assert ok and len(out) == POINT, "trading: point is not in the group"
    assert convert(slice(out, 0, 32), uint256) | convert(slice(out, 32, 32), uint256) != 0, "trading: point at infinity"
