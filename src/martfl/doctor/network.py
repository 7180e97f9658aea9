"""Ports, certificates, and whether the other side can be reached."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from martfl.doctor import Finding, weigh, well
from martfl.federation.invitation import Invitation, host_and_port

PATIENCE = 5.0  # seconds for a connection
DAYS = 14  # before a certificate ends


def port(host: str, number: int) -> Finding:
    """Whether a SuperLink could listen there now."""
    what, remedy = f"port {number}", f"stop what listens on {number}, or run with another --port"
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, number))
    except (OSError, OverflowError) as error:
        return Finding(what, "fail", f"cannot be used: {getattr(error, 'strerror', None) or error}", remedy)
    return well(what, "free; open it to the sellers in the firewall")


def certificates(folder: Path) -> Iterator[Finding]:
    """The files of `martfl acquirer certificate`: there, kept, valid for a while."""
    from cryptography import x509

    again = "make new ones: martfl acquirer certificate HOST, and hand out a new invitation"
    try:
        certificate = x509.load_pem_x509_certificate((folder / "superlink.pem").read_bytes())
        mode = (folder / "superlink.key").stat().st_mode
        (folder / "authority.pem").read_bytes()
    except (OSError, ValueError) as error:
        yield Finding("TLS", "fail", f"{folder}: {error}", again)
        return
    named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    hosts = ", ".join(str(name.value) for name in named)
    left = (certificate.not_valid_after_utc - datetime.now(UTC)).days
    yield weigh(left >= DAYS, "TLS", f"for {hosts}; {left} days left", again, otherwise="warn" if left > 0 else "fail")
    closed = f"only you may read it: chmod 600 {folder / 'superlink.key'}"
    yield weigh(not mode & 0o077, "TLS key", f"mode {mode & 0o777:o}", closed)


def reach(invitation: Invitation) -> Finding:
    """A connection to the buyer's SuperLink as a seller's program makes it, TLS included."""
    what, place = "buyer", invitation.superlink
    try:
        _connect(invitation)
    except ssl.SSLError as error:
        remedy = "ask the buyer for a new invitation: its certificate is not for this name, or of another authority"
        return Finding(what, "fail", f"{place}: TLS failed: {error.reason or error}", remedy)
    except OSError as error:
        remedy = "the buyer runs `martfl acquirer run` and opens the port; a name must resolve. You may join and wait"
        return Finding(what, "warn", f"{place}: {error.strerror or error}", remedy)
    return well(what, f"{place} answers" + ("" if invitation.insecure else ", and proves who it is"))


def _connect(invitation: Invitation) -> None:
    host, number = host_and_port(invitation.superlink)
    with socket.create_connection((host, number), timeout=PATIENCE) as plain:
        if not invitation.insecure:
            context = ssl.create_default_context(cadata=invitation.authority or None)
            with context.wrap_socket(plain, server_hostname=host):
                pass
