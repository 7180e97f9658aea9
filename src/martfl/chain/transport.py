"""JSON-RPC over HTTP, patient with a flaky node and silent about its URL.

Node URLs carry API keys. web3's own HTTP provider writes the URL to the debug log and `requests` puts it into its
exceptions; this one names the host and nothing else.
"""

import base64
import logging
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import unquote, urlsplit, urlunsplit

from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from martfl.chain.network import ChainError
from martfl.errors import InputError

log = logging.getLogger(__name__)

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})  # HTTP answers that may be better next time
FIRST_DELAY = 0.1  # seconds; doubled after every failure
LONGEST_DELAY = 5.0
REQUEST_TIMEOUT = 30.0


class HttpTransport(JSONBaseProvider):
    """A web3 provider. Every request may be repeated: a signed transaction that arrives twice is one transaction."""

    def __init__(self, url: str, *, patience: float) -> None:
        super().__init__()
        self._url, self._headers = _split(url)
        self._patience = patience
        self.host = str(urlsplit(self._url).hostname)

    def make_request(self, method: RPCEndpoint, params: object) -> RPCResponse:
        """Ask until there is an answer, for `patience` seconds at most."""
        body = self.encode_rpc_request(method, params)
        deadline, delay = time.monotonic() + self._patience, FIRST_DELAY
        while True:
            try:
                return self._post(body)
            except _TroubleError as trouble:
                if time.monotonic() + delay > deadline:
                    raise ChainError(f"node {self.host} did not answer {method}: {trouble}") from None
                log.info("node %s: %s: %s; again in %.1f s", self.host, method, trouble, delay)
            time.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    def is_connected(self, show_traceback: bool = False) -> bool:
        try:
            self.make_request(RPCEndpoint("web3_clientVersion"), [])
        except ChainError:
            return False
        return True

    def __repr__(self) -> str:
        return f"HttpTransport(host={self.host!r})"

    def _post(self, body: bytes) -> RPCResponse:
        request = urllib.request.Request(self._url, data=body, headers=self._headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_TIMEOUT) as answer:
                return self.decode_rpc_response(answer.read())
        except urllib.error.HTTPError as error:
            if error.code not in RETRIED:
                raise ChainError(f"node {self.host} answered HTTP {error.code}") from None
            raise _TroubleError(f"HTTP {error.code}") from None
        except (OSError, HTTPException, ValueError) as error:  # refused, reset, cut short, or not JSON
            raise _TroubleError(type(error).__name__) from None


class _TroubleError(Exception):
    """One request went wrong in a way that may pass."""


def _split(url: str) -> tuple[str, dict[str, str]]:
    """The URL without a user's name and password, which go into a header."""
    headers = {"Content-Type": "application/json", "User-Agent": "martfl"}
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"a node's URL must start with http:// or https:// and name a host, got scheme {parts.scheme!r}"
        )
    if parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, parts.query, "")), headers
