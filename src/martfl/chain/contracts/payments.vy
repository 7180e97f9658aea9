# pragma version 0.4.3
"""
@title Money in and out: the chain's coin, or an ERC-20 token.
@notice A token that moves less than it was asked to (a fee on transfer) is refused; one that returns nothing is fine.
"""

from ethereum.ercs import IERC20

RECEIVER_GAS: constant(uint256) = 100_000  # what a receiver may spend of somebody else's gas


@internal
@payable
def collect(token: address, amount: uint256):
    if token == empty(address):
        assert msg.value == amount, "trading: value is not the amount"
        return
    assert msg.value == 0, "trading: this market pays in a token"
    if amount == 0:
        return  # some tokens refuse to move nothing
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


@internal
def try_to_pay(token: address, to: address, amount: uint256) -> bool:
    # For batches: a receiver that refuses, or burns gas, costs nobody else its payment.
    if token == empty(address):
        return raw_call(to, b"", value=amount, gas=RECEIVER_GAS, revert_on_failure=False)
    ok: bool = False
    answer: Bytes[32] = b""
    ok, answer = raw_call(
        token,
        abi_encode(to, amount, method_id=method_id("transfer(address,uint256)")),
        max_outsize=32,
        gas=RECEIVER_GAS,
        revert_on_failure=False,
    )
    return ok and (len(answer) == 0 or (len(answer) == 32 and convert(answer, uint256) == 1))
