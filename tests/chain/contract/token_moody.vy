# pragma version 0.4.3
"""
@title A token that refuses to pay whom it frowns at: by False, by a revert, or it keeps a part.
"""

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
totalSupply: public(uint256)
mood: public(HashMap[address, uint256])  # 0: pay, 1: say False, 2: revert, 3: keep one unit


@deploy
def __init__(supply: uint256):
    self.balanceOf[msg.sender] = supply
    self.totalSupply = supply


@external
def frown(at: address, mood: uint256):
    self.mood[at] = mood


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    return True


@external
def transfer(to: address, amount: uint256) -> bool:
    assert self.mood[to] != 2, "token: never"
    if self.mood[to] == 1:
        return False
    self._move(msg.sender, to, amount)
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    self._move(owner, to, amount)
    return True


@internal
def _move(owner: address, to: address, amount: uint256):
    self.balanceOf[owner] -= amount
    kept: uint256 = 1 if self.mood[to] == 3 and amount > 0 else 0
    self.balanceOf[to] += amount - kept
