# pragma version 0.4.3
"""
@title A provider that is a contract: it sells, and misbehaves when it is paid.
"""

from interfaces import ITrading

MARKET: immutable(ITrading)
mode: uint256              # 0: take it, 1: claim again, 2: refuse, 3: burn all gas
epoch: uint256
again: public(uint256)     # attempts to come back while being paid
gained: public(bool)       # whether one of them succeeded


@deploy
def __init__(target: address, mode: uint256):
    MARKET = ITrading(target)
    self.mode = mode


@external
def be(mode: uint256):
    self.mode = mode


@external
def commit(epoch: uint256, digest: bytes32):
    self.epoch = epoch
    extcall MARKET.commit_model(epoch, digest)


@external
def claim(epoch: uint256):
    extcall MARKET.claim_reward(epoch)


@external
@payable
def __default__():
    assert self.mode != 2, "claimant: refuses money"
    if self.mode == 3:
        for i: uint256 in range(2 ** 64):
            self.again += 1
    if self.mode == 1:
        payees: DynArray[ITrading.Payee, 1] = [
            ITrading.Payee(provider=self, receiver=self, signature=empty(ITrading.Signature))
        ]
        self._try(abi_encode(self.epoch, method_id=method_id("claim_reward(uint256)")))
        self._try(
            abi_encode(
                self.epoch,
                payees,
                method_id=method_id("claim_rewards(uint256,(address,address,(uint256,uint256,uint256))[])"),
            )
        )


@internal
def _try(data: Bytes[512]):
    self.again += 1
    if raw_call(MARKET.address, data, revert_on_failure=False):
        self.gained = True
