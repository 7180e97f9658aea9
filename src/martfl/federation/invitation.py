"""One file that a buyer hands out: the market's terms as they are, and a table that says where and whom to trust.

    name = "digits"          # … all of market.toml …

    [invitation]             # not part of what is agreed
    superlink = "buyer.example:9092"
    chain_id = 31337
    authority = (PEM)        # left out: the system's authorities; with `insecure` there is no TLS

The file can be used wherever market.toml can. It holds no secrets.
"""

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from eth_utils.address import is_address

from martfl.chain.profiles import RpcProfile, load_profiles
from martfl.errors import InputError
from martfl.market.terms import load_terms

INVITATION = "invitation"  # the table, which `load_terms` passes over
PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(\d{1,5})")


@dataclass(frozen=True, kw_only=True)
class Invitation:
    """Where the acquirer listens, on which chain its contract is, and who vouches for its machine.

    Examples:
        >>> Invitation(superlink='buyer.example:9092', chain_id=31337).insecure
        False
        >>> Invitation(superlink='buyer.example', chain_id=31337)
        Traceback (most recent call last):
            ...
        martfl.errors.InputError: a SuperLink's place must be host:port, got 'buyer.example'
    """

    superlink: str
    chain_id: int
    authority: str = ""
    insecure: bool = False

    def __post_init__(self) -> None:
        host_and_port(self.superlink)
        if type(self.chain_id) is not int or self.chain_id < 1:
            raise InputError(f"an invitation's chain_id must be a positive number, got {self.chain_id!r}")
        if type(self.authority) is not str or type(self.insecure) is not bool:
            raise InputError("an invitation's authority must be a text, and insecure true or false")
        if self.authority and "BEGIN CERTIFICATE" not in self.authority:
            raise InputError("an invitation's authority must be a certificate in PEM")
        if "PRIVATE KEY" in self.authority:
            raise InputError("an invitation's authority holds a private key: hand out authority.pem only")
        if self.authority and self.insecure:
            raise InputError("an invitation has an authority, or is insecure, not both")


def host_and_port(place: str) -> tuple[str, int]:
    """The two parts of `host:port`.

    Examples:
        >>> host_and_port('market.example.org:9092')
        ('market.example.org', 9092)
        >>> host_and_port('[::1]:9092')
        ('::1', 9092)
    """
    found = PLACE.fullmatch(place) if isinstance(place, str) else None
    if found is None or not 1 <= int(found[2]) <= 65535:
        raise InputError(f"a SuperLink's place must be host:port, got {place!r}")
    return found[1].strip("[]"), int(found[2])


def write_invitation(market: Path, out: Path, invitation: Invitation) -> None:
    """The terms and the invitation in one file; refuses terms that no contract holds yet.

    Examples:
        >>> invitation = Invitation(superlink='buyer.example:9092', chain_id=1337)
        >>> write_invitation(Path('market/market.toml'), Path('invitation.toml'), invitation)
        >>> load_terms(Path('invitation.toml')).hash == load_terms(Path('market/market.toml')).hash
        True
    """
    contract = load_terms(market).chain.contract
    if not is_address(contract):
        raise InputError(f"{market} names no contract yet: run `martfl acquirer deploy {market}` first")
    text = market.read_text(encoding="utf-8")
    if INVITATION in tomllib.loads(text):
        raise InputError(f"{market} is an invitation already")
    lines = [f"[{INVITATION}]  # where to join; not part of what is agreed", f'superlink = "{invitation.superlink}"']
    lines += [f"chain_id = {invitation.chain_id}"]
    lines += ["insecure = true"] if invitation.insecure else []
    lines += [f'authority = """\n{invitation.authority.strip()}\n"""'] if invitation.authority else []
    part = out.with_name(f"{out.name}.part")
    part.write_text(f"{text.rstrip()}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    part.replace(out)


def read_invitation(path: Path) -> Invitation | None:
    """The invitation in a terms file, if it has one.

    Examples:
        >>> invitation = Invitation(superlink='buyer.example:9092', chain_id=1337)
        >>> write_invitation(Path('market/market.toml'), Path('invitation.toml'), invitation)
        >>> read_invitation(Path('invitation.toml')) == invitation, read_invitation(Path('market/market.toml'))
        (True, None)
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8")).get(INVITATION)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not readable as TOML: {error}") from error
    if values is None:
        return None
    known = [field.name for field in fields(Invitation)]
    if not isinstance(values, dict) or not {"superlink", "chain_id"} <= set(values) <= set(known):
        raise InputError(
            f"{path}: [{INVITATION}] must have superlink and chain_id, and may have {', '.join(known[2:])}"
        )
    return Invitation(**values)


def require_chain(invitation: Invitation, *, profile: str, config: Path | None) -> None:
    """Refuse a chain of ours that is not the market's; say what to write down where it is not named yet.

    Examples:
        >>> file = Path('martfl.toml')
        >>> _ = file.write_text('chains.sepolia.rpc = "env:RPC_URL"')
        >>> invitation = Invitation(superlink='buyer.example:9092', chain_id=11155111)
        >>> require_chain(invitation, profile='sepolia', config=file) is None
        True
    """
    found = load_profiles(config).get(profile)
    if not isinstance(found, RpcProfile):
        raise InputError(
            f"the market's chain has the id {invitation.chain_id} and is called {profile!r}. Name a node you trust "
            f'in martfl.toml: a table [chains.{profile}] with rpc = "https://…" and chain_id = {invitation.chain_id}'
        )
    if found.chain_id != invitation.chain_id:
        raise InputError(
            f"the invitation is for chain {invitation.chain_id}, and [chains.{profile}] in martfl.toml is chain "
            f"{found.chain_id}"
        )
