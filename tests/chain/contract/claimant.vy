# pragma version 0.4.3
"""
@title A provider that is a contract: it sells, and misbehaves when it is paid.
"""

interface Trading:
    def commit_model(epoch: uint256, commitment: Bytes[128], nonce: bytes32): nonpayable
    def claim_reward(epoch: uint256) -> uint256: nonpayable
    def expire(epoch: uint256): nonpayable

MARKET: immutable(Trading)
MODE: immutable(uint256)   # 0: take it, 1: claim again, 2: refuse
epoch: uint256
again: public(uint256)     # attempts to come back while being paid
gained: public(bool)       # whether one of them succeeded


@deploy
def __init__(target: address, mode: uint256):
    MARKET = Trading(target)
    MODE = mode


@external
def commit(epoch: uint256, commitment: Bytes[128]):
    extcall MARKET.commit_model(epoch, commitment, empty(bytes32))


@external
def claim(epoch: uint256):
    self.epoch = epoch
    extcall MARKET.claim_reward(epoch)


@external
@payable
def __default__():
    assert MODE != 2, "claimant: refuses money"
    if MODE == 1:
        self.again += 1
        ok: bool = raw_call(
            MARKET.address, abi_encode(self.epoch, method_id=method_id("claim_reward(uint256)")), revert_on_failure=False
        )
        self.gained = self.gained or ok
