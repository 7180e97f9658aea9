# pragma version 0.4.3
"""
@title A token that says False and moves nothing.
"""

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
totalSupply: public(uint256)


@deploy
def __init__(supply: uint256):
    self.balanceOf[msg.sender] = supply
    self.totalSupply = supply


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    return False


@external
def transfer(to: address, amount: uint256) -> bool:
    return False


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    return False
