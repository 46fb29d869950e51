"""What opens an API server: its address, a token or a client certificate, and whom to trust.

``kubeconfig`` and ``service_account`` make it from files. Keys that came as text never get a name on disk that a killed
process would leave there, and a token in a file is read again, because whoever wrote it also renews it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from drakit_client.errors import ConfigurationError

_logger = logging.getLogger(__name__)
# As in client-go, transport/token_source.go.
_TOKEN_SECONDS = 60.0


class TokenFile:
    """A bearer token in a file, read again when a minute has passed; if it cannot be read then, the last one is used.

    ``name`` is how errors call the file. Raises ``ConfigurationError`` if there is no token in it at first.
    """

    def __init__(self, path: Path, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._name = name
        self._clock = clock
        self._token = self._read()
        self._due = clock() + _TOKEN_SECONDS

    def current(self) -> str:
        """Return the token to use now."""
        if self._clock() >= self._due:
            self._due = self._clock() + _TOKEN_SECONDS
            try:
                self._token = self._read()
            except ConfigurationError as error:
                _logger.warning("%s; the last token is used on", error)
        return self._token

    def _read(self) -> str:
        token = content(self._path, self._name).decode("ascii", "replace").strip()
        if not token or not token.isascii() or not token.isprintable():
            raise ConfigurationError(f"{self._name}: {self._path} must hold a bearer token, one line of text")
        return token


@dataclass(frozen=True, slots=True)
class Access:
    """``tls`` is None for a server without TLS; ``server_name`` is whose certificate it shows, if not its host's."""

    server: str
    token: str | TokenFile | None = None
    tls: ssl.SSLContext | None = None
    server_name: str | None = None


def trusting(authority: bytes | None, *, verify: bool = True) -> ssl.SSLContext:
    """Make a client's TLS context that trusts one authority (PEM), or without one what the system trusts.

    Raises ``ssl.SSLError`` or ``ValueError`` where there is no certificate in it.
    """
    # PEM is ASCII, and so is all that ssl takes from memory; bundles have names of authorities between.
    text = None if authority is None else authority.decode("ascii", "ignore").strip()
    if text == "":
        # To ssl an empty text is the same as None.
        raise ValueError("it is empty")
    context = ssl.create_default_context(cadata=text)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def show(context: ssl.SSLContext, certificate: bytes, key: bytes | None) -> None:
    """Let a client show this certificate (PEM); without ``key`` the key is beside it. Raises like ``trusting``."""
    with _as_file(certificate) as certificate_file, _as_file(key or certificate) as key_file:
        context.load_cert_chain(certificate_file, key_file, password=_refuse_passphrase)


def content(path: Path, name: str) -> bytes:
    """Read a file, which errors call ``name``. Raises ``ConfigurationError``."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name}: {path}: {error.strerror}") from error


def _refuse_passphrase() -> str:
    # OpenSSL would ask for it on the terminal, which a component does not have.
    raise ValueError("the key is encrypted; decrypt it, e.g. with `openssl pkey`")


@contextlib.contextmanager
def _as_file(pem: bytes) -> Iterator[str]:
    """Put a PEM where ssl can read it: it takes a client's certificate and key from files alone."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("pem"), "wb") as memory:
            memory.write(pem)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(pem)
            file.flush()
            yield file.name
