# pragma version 0.4.3
# pragma evm-version prague
# pragma optimize gas
"""
@title The heavy check of exact settlement in a contract of its own: no state, no money, one copy serves all markets.
@notice A market names its address for ever; who joins compares the code there with what these sources compile to.
"""

import leaves
from interfaces import IJudge

implements: IJudge


@external
@view
def root_of_false(layout: leaves.Layout, key: bytes32, leaf: leaves.Leaf) -> bytes32:
    """
    @notice The root of the sealed update that a false leaf belongs to. Reverts where the leaf is what it was committed to.
    @param layout How updates are packed, and the generators that they are committed with.
    @param key The key that opens the update.
    @param leaf The leaf, its place in the trees, and the sum that its commitment should be.
    @return The root.
    """
    return leaves.root_of_false(layout, key, leaf)
