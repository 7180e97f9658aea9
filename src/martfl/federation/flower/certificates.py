"""TLS for a SuperLink without a public certificate: an authority of the market's own, and a certificate it signs."""

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from martfl.errors import InputError
from martfl.federation.flower.processes import Certificates

ALWAYS = ("localhost", "127.0.0.1")  # the acquirer reaches its own SuperLink there


def make_certificates(folder: Path, *, hosts: Sequence[str], days: int = 825) -> Certificates:
    """Write authority.pem (for providers), superlink.pem and superlink.key; the authority's own key is not kept."""
    files = Certificates(folder / "authority.pem", folder / "superlink.pem", folder / "superlink.key")
    for file in (files.authority, files.certificate, files.key):
        if file.exists():
            raise InputError(f"{file} exists already")
    folder.mkdir(parents=True, exist_ok=True)
    signer, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(signer, days)
    certificate = _server(server, signer, authority, [*dict.fromkeys([*hosts, *ALWAYS])], days)
    files.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    with os.fdopen(os.open(files.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(_private(server))
    return files


def authority_for(folder: Path, *, host: str) -> str:
    """authority.pem of a folder, if its SuperLink's certificate is for this name or address."""
    certificate = x509.load_pem_x509_certificate((folder / "superlink.pem").read_bytes())
    named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if _host(host) not in named:
        known = ", ".join(str(name.value) for name in named)
        raise InputError(f"the certificate in {folder} is for {known}, not for {host!r}: make one that names it")
    return (folder / "authority.pem").read_text(encoding="ascii")


def _authority(key: ec.EllipticCurvePrivateKey, days: int) -> x509.Certificate:
    name = _name("martfl market authority")
    usage = x509.KeyUsage(*(field in ("cert", "crl") for field in _USAGES))
    return (
        _builder(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    hosts: Sequence[str],
    days: int,
) -> x509.Certificate:
    named = x509.SubjectAlternativeName([_host(host) for host in hosts])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        _builder(_name(hosts[0][:64]), authority.subject, key.public_key(), days)
        .add_extension(named, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(signer, hashes.SHA256())
    )


# The order of x509.KeyUsage's arguments.
_USAGES = ("signature", "commitment", "key", "data", "agreement", "cert", "crl", "encipher", "decipher")


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks differ
        .not_valid_after(now + timedelta(days=days))
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
