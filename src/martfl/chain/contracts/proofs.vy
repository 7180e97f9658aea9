# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title The heavy checks of sampled settlement in a contract of their own: no state, no money, one copy serves all markets.
@notice A market names its address for ever; who joins compares the code there with what these sources compile to.
"""

import groth16
import samples
import vdf


@external
@view
def delay_holds(seed: bytes32, steps: uint256, output: uint256[8], proof: uint256[8], counter: uint256) -> bool:
    """
    @notice Whether `output` is the delay function of `seed` after `steps` squarings.
    """
    return vdf.holds(seed, steps, output, proof, counter)


@external
@view
def groth16_holds(
    key: DynArray[uint256, groth16.MAX_KEY], inputs: DynArray[uint256, groth16.MAX_INPUTS], proof: uint256[8]
) -> bool:
    """
    @notice Whether the proof shows the statement with these public inputs.
    """
    return groth16.holds(key, inputs, proof)


@external
@pure
def poseidon(
    inputs: DynArray[uint256, samples.MAX_WIDTH - 1], constants: DynArray[uint256, samples.MAX_CONSTANTS]
) -> uint256:
    """
    @notice Poseidon of the inputs, with constants that the caller has checked.
    """
    return samples.poseidon(inputs, constants)
