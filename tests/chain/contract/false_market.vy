# pragma version 0.4.3
"""
@title A contract that plays a market with a sampled proof, to reach another market through the prover.
"""

from interfaces import IProver
from interfaces import ISampled
from interfaces import ITrading

VICTIM: immutable(address)
PROVER: immutable(address)
OWNER: immutable(address)
heard: public(uint256)      # how often the prover said something
proof: public(ISampled.Proof)
passed_on: public(uint256)  # how often the victim listened
back: bool


@deploy
def __init__(victim: address, prover: address, owner: address):
    VICTIM = victim
    PROVER = prover
    OWNER = owner


@external
def come_back(back: bool):
    self.back = back


@external
@view
def publication(epoch: uint256) -> ISampled.Publication:
    return staticcall ISampled(VICTIM).publication(epoch)


@external
@view
def sampling() -> ISampled.Sampling:
    fixed: ISampled.Sampling = staticcall ISampled(VICTIM).sampling()
    fixed.optimistic = True
    return fixed


@external
@view
def terms() -> ITrading.Terms:
    fixed: ITrading.Terms = staticcall ITrading(VICTIM).terms()
    fixed.acquirer = OWNER
    return fixed


@external
@view
def is_of(epoch: uint256, provider: address, commitment: bytes32, seal: bytes32) -> bool:
    return True


@external
def keep(proof: ISampled.Proof):
    self.proof = proof
    self._pass_on(abi_encode(proof, method_id=method_id("keep((uint256,bytes32,bytes32,bytes32,bytes32))")))


@external
def proved(epoch: uint256):
    self._pass_on(abi_encode(epoch, method_id=method_id("proved(uint256)")))


@external
def failed(epoch: uint256):
    self._pass_on(abi_encode(epoch, method_id=method_id("failed(uint256)")))


@internal
def _pass_on(data: Bytes[164]):
    self.heard += 1
    if raw_call(VICTIM, data, revert_on_failure=False):
        self.passed_on += 1
    if self.back:
        draw: Bytes[68] = abi_encode(VICTIM, convert(1, uint256), method_id=method_id("draw_samples(address,uint256)"))
        ok: bool = raw_call(PROVER, draw, revert_on_failure=False)
