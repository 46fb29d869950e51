"""Requests that two readers could divide differently: what hides in one of them is never carried out."""

from __future__ import annotations

import contextlib
import socket
import ssl
from urllib.parse import urlsplit

import yaml

from drakit_client.resources import CONFIG_MAPS
from e2e.attacks.victim import Victim

_SECONDS = 10
_BODY = '{"metadata": {"name": "smuggled"}}'


def _hidden(token: str) -> str:
    """A whole request that creates a config map, to hide in the body of another."""
    return (
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(_BODY)}\r\n\r\n{_BODY}"
    )


# Headers of a request whose body is `0`, an empty line and a hidden request. By its length, the body is all of that
# (LENGTH) or only its first five bytes; by its chunks, it ends before the hidden request.
_FRAMINGS = {
    "length and chunks": ["Content-Length: LENGTH", "Transfer-Encoding: chunked"],
    "chunks and length": ["Transfer-Encoding: chunked", "Content-Length: LENGTH"],
    "two lengths": ["Content-Length: LENGTH", "Content-Length: 5"],
    "a list of lengths": ["Content-Length: 5, LENGTH"],
    "a signed length": ["Content-Length: +5"],
    "a negative length": ["Content-Length: -1"],
    "a length in hexadecimal": ["Content-Length: 0x5"],
    "a space before the colon": ["Content-Length : 5"],
    "a folded header": ["X: y", " Content-Length: 5", "Transfer-Encoding: chunked"],
    "an unknown coding": ["Transfer-Encoding: xchunked", "Content-Length: 5"],
    "chunks in the middle of codings": ["Transfer-Encoding: chunked, identity", "Content-Length: 5"],
    "chunks after a vertical tab": ["Transfer-Encoding: \x0bchunked", "Content-Length: 5"],
    "a NUL in a header": ["X: a\0b", "Content-Length: 5"],
    "a bare line feed": ["X: y\nContent-Length: 5", "Transfer-Encoding: chunked"],
    "a bare carriage return": ["X: y\rContent-Length: 5", "Transfer-Encoding: chunked"],
    "a header without a colon": ["Content-Length 5"],
}


def test_an_ambiguous_request_is_refused_and_ends_the_connection(victim: Victim) -> None:
    token = victim.cluster.spec.token
    assert token is not None
    body = f"0\r\n\r\n{_hidden(token)}"
    for name, headers in _FRAMINGS.items():
        lines = ["GET /api/v1/namespaces/default HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *headers]
        head = "\r\n".join(lines).replace("LENGTH", str(len(body)))
        assert _answers(victim, f"{head}\r\n\r\n{body}".encode()) in ([], ["400"]), name
        assert victim.api.find(CONFIG_MAPS, "smuggled") is None, name
    closing = _hidden(token).replace("Host:", "Connection: close\r\nHost:")
    assert _answers(victim, closing.encode()) == ["201"], "what was hidden is a request that works"


def _answers(victim: Victim, sent: bytes) -> list[str]:
    """The status codes that the API server answers to these bytes, until it closes the connection."""
    received = b""
    with _connection(victim) as connection, contextlib.suppress(ConnectionError, ssl.SSLError):
        connection.sendall(sent)
        while chunk := connection.recv(65536):
            received += chunk
    return [line.split()[1].decode() for line in received.splitlines() if line.startswith(b"HTTP/1.1 ")]


def _connection(victim: Victim) -> ssl.SSLSocket:
    (cluster,) = yaml.safe_load(victim.cluster.kubeconfig.read_text())["clusters"]
    url = urlsplit(cluster["cluster"]["server"])
    assert url.hostname is not None
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls.wrap_socket(socket.create_connection((url.hostname, url.port or 443), timeout=_SECONDS))
