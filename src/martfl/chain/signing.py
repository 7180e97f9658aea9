"""What providers sign for others to send: typed data (EIP-712), bound to one contract on one chain."""

from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from martfl.chain.state import SignedClaim, SignedCommit
from martfl.values import Json

COMMIT = [("epoch", "uint256"), ("provider", "address"), ("digest", "bytes32")]
CLAIM = [("epoch", "uint256"), ("provider", "address"), ("receiver", "address")]


def sign_commit(account: LocalAccount, *, chain_id: int, market: str, epoch: int, digest: bytes) -> SignedCommit:
    """The provider's own commitment, for anybody to send."""
    content = {"epoch": epoch, "provider": account.address, "digest": digest}
    signature = _sign(account, _domain(chain_id, market), "Commit", COMMIT, content)
    return SignedCommit(provider=account.address, digest=digest, signature=signature)


def sign_claim(account: LocalAccount, *, chain_id: int, market: str, epoch: int, receiver: str) -> SignedClaim:
    """Where the provider wants an epoch's pay to go."""
    place = to_checksum_address(receiver)
    content = {"epoch": epoch, "provider": account.address, "receiver": place}
    signature = _sign(account, _domain(chain_id, market), "Claim", CLAIM, content)
    return SignedClaim(provider=account.address, receiver=place, signature=signature)


def signature_words(signature: bytes) -> tuple[int, int, int]:
    """v, r, s as the contract wants them; zeros where there is no signature."""
    if len(signature) != 65:
        return 0, 0, 0
    return signature[64], int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")


def _domain(chain_id: int, market: str) -> Json:
    place = to_checksum_address(market)
    return {"name": "martfl", "version": "2", "chainId": chain_id, "verifyingContract": place}


def _sign(account: LocalAccount, domain: Json, kind: str, types: list[tuple[str, str]], content: Json) -> bytes:
    fields = {kind: [{"name": name, "type": type_} for name, type_ in types]}
    signable = encode_typed_data(domain_data=domain, message_types=fields, message_data=content)
    return bytes(account.sign_message(signable).signature)
