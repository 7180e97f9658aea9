# pragma version 0.4.3
"""
@title Money in and out: the chain's coin, or an ERC-20 token.
@notice A token that moves less than it was asked to (a fee on transfer) is refused; one that returns nothing is fine.
"""

from ethereum.ercs import IERC20


@internal
@payable
def collect(token: address, amount: uint256):
    if token == empty(address):
        assert msg.value == amount, "trading: value is not the amount"
        return
    assert msg.value == 0, "trading: this market pays in a token"
    before: uint256 = staticcall IERC20(token).balanceOf(self)
    assert extcall IERC20(token).transferFrom(msg.sender, self, amount, default_return_value=True), "trading: token refused"
    after: uint256 = staticcall IERC20(token).balanceOf(self)
    assert after == before + amount, "trading: token charges a fee"


@internal
def pay(token: address, to: address, amount: uint256):
    if token == empty(address):
        raw_call(to, b"", value=amount)
    else:
        assert extcall IERC20(token).transfer(to, amount, default_return_value=True), "trading: token refused"
