# pragma version 0.4.3
"""
@title What providers sign for others to send (EIP-712), bound to this chain and this contract.
"""

from interfaces import ITrading

DOMAIN_TYPE: constant(bytes32) = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
NAME: constant(bytes32) = keccak256("martfl")
VERSION: constant(bytes32) = keccak256("2")
COMMIT_TYPE: constant(bytes32) = keccak256("Commit(uint256 epoch,address provider,bytes32 digest)")
CLAIM_TYPE: constant(bytes32) = keccak256("Claim(uint256 epoch,address provider,address receiver)")


@internal
@view
def domain() -> bytes32:
    # Not stored: after a fork of the chain its id, and so the domain, is another one.
    return keccak256(abi_encode(DOMAIN_TYPE, NAME, VERSION, chain.id, self))


@internal
@view
def signed(domain: bytes32, content: bytes32, signer: address, by: ITrading.Signature) -> bool:
    # Two signatures of one content are as good as one: whatever is signed here happens once.
    digest: bytes32 = keccak256(concat(x"1901", domain, content))
    return signer != empty(address) and ecrecover(digest, by.v, by.r, by.s) == signer
