"""What can go wrong with a call, as Go's net, crypto and client-go say it in errors that clients get to read."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import time

import aiohttp

from drakit_api.golang.gostrings import quote

DEADLINE = "context deadline exceeded"
_CERTIFICATE = "tls: failed to verify certificate: x509: "
# X509_V_ERR_* of OpenSSL: no chain to an authority that is trusted.
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21, 27})
_EXPIRED = frozenset({9, 10})
_OTHER_NAME = frozenset({62, 64})
_BY_CODE = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def of(error: Exception, name: str, host: str, port: int) -> str:
    """Say why nobody has answered; ``host`` and ``port`` were connected to, for a certificate of ``name``."""
    match error:
        case TimeoutError():
            return DEADLINE
        case aiohttp.ClientConnectorCertificateError():
            return _of_certificate(error.certificate_error, name)
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {host}: no such host"
        case aiohttp.ClientConnectorSSLError():
            return _of_tls(error)
        case aiohttp.ClientConnectorError():
            return _of_dialling(error.os_error, host, port)
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case aiohttp.TooManyRedirects():
            return "stopped after 10 redirects"
        case aiohttp.ClientPayloadError():
            return "unexpected EOF"
        case OSError():
            return f"read tcp: {_of_system(error)}"
    return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response ({type(error).__name__})"


def _of_dialling(error: OSError, host: str, port: int) -> str:
    if isinstance(error, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"dial tcp {where}: connect: {_of_system(error)}"


def _of_system(error: OSError) -> str:
    """Say it as the system does (``strerror``), which is all that Go adds."""
    number = error.errno
    if number is None and (text := str(error)):
        return text
    known = {errno.ECONNREFUSED: "connection refused", errno.ECONNRESET: "connection reset by peer"}
    return known.get(number or 0) or os.strerror(number or 0).lower()


def _of_tls(error: aiohttp.ClientConnectorSSLError) -> str:
    reason = getattr(error.os_error, "reason", "") or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"):
        return "http: server gave HTTP response to HTTPS client"
    return f"remote error: tls: {reason.lower().replace('_', ' ') or 'handshake failure'}"


def _of_certificate(error: Exception, name: str) -> str:
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"{_CERTIFICATE}{error}"
    code = error.verify_code
    if code in _UNKNOWN_AUTHORITY:
        return f"{_CERTIFICATE}certificate signed by unknown authority"
    if code in _EXPIRED:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return f"{_CERTIFICATE}certificate has expired or is not yet valid: current time {now} is out of its validity"
    if code in _OTHER_NAME:
        return f"{_CERTIFICATE}certificate is not valid for {name}"
    return f"{_CERTIFICATE}{error.verify_message}"


def of_status(code: int, content_type: str, body: bytes) -> str:
    """Say what an HTTP status means (``NewGenericServerResponse`` in apimachinery/pkg/api/errors/errors.go)."""
    is_text = not content_type or content_type.partition(";")[0].strip().lower().startswith("text/")
    said = body[:2048].decode("utf-8", "replace").strip() if is_text else "unknown"
    if code == 403 or code == 415 or (code == 406 and said not in ("", "unknown")):
        return said
    if code == 406:
        return "the server was unable to respond with a content type that the client supports"
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code >= 500:
        return f"an error on the server ({quote(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
