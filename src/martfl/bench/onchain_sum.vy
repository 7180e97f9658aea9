# pragma version 0.4.3
"""
@title What aggregating on chain costs: every provider hands its whole update to the contract, which adds it up.
"""

MAX: constant(uint256) = 512
LANES: constant(uint256) = 10   # 24-bit sums in a word

plain: HashMap[uint256, int256]
packed: HashMap[uint256, uint256]


@external
def add(start: uint256, update: DynArray[int256, MAX]):
    """
    @notice One parameter in a storage slot.
    """
    at: uint256 = start
    for value: int256 in update:
        self.plain[at] += value
        at += 1


@external
def add_packed(start: uint256, words: DynArray[uint256, MAX]):
    """
    @notice Ten parameters in a storage slot, offset so that no lane is negative or overflows.
    """
    at: uint256 = start
    for word: uint256 in words:
        self.packed[at] += word
        at += 1
