# pragma version 0.4.3
"""
@title A token that keeps a share of every transfer, or refuses one receiver: what its maker likes.
"""

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
totalSupply: public(uint256)
percent: uint256
refused: address


@deploy
def __init__(supply: uint256, percent: uint256, refused: address):
    self.balanceOf[msg.sender] = supply
    self.totalSupply = supply
    self.percent = percent
    self.refused = refused


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    return True


@external
def transfer(to: address, amount: uint256) -> bool:
    assert to != self.refused, "refused"
    self.balanceOf[msg.sender] -= amount
    self.balanceOf[to] += amount - amount * self.percent // 100
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    self.balanceOf[owner] -= amount
    self.balanceOf[to] += amount - amount * self.percent // 100
    return True
