"""Serving certificates of the API server and of the kubelets: the user's, or a self-signed one for loopback.

A self-signed one can be kept: a kubeconfig stays valid when the server is restarted, and the next start is quicker.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from drakit_client import certificates
from drakit_client.files import private_files, regular_files

# The certificate of the port of simulated kubelets, beside the nodes' directories: no node has this name.
OF_KUBELETS = ".kubelet.crt"
_END_OF_KEY = b"-----END PRIVATE KEY-----\n"


def given(cert_file: Path, key_file: Path) -> tuple[ssl.SSLContext, bytes]:
    """Load the user's certificate into a server context; also returns the PEM that clients have to trust.

    Raises:
        OSError: if a file cannot be used.
    """
    context = _context()
    context.load_cert_chain(cert_file, key_file)
    return context, cert_file.read_bytes()


def of_client(cert_file: Path | None, key_file: Path | None) -> ssl.SSLContext:
    """Build a client context that shows a certificate, if one is given, and does not verify the server's.

    Raises:
        OSError: if a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if cert_file is not None and key_file is not None:
        context.load_cert_chain(cert_file, key_file)
    return context


def self_signed(host: str, keep: Path | None, shared: Path | None = None) -> tuple[ssl.SSLContext, bytes]:
    """Load or make a self-signed certificate; ``keep`` is the file for it. Returns the same as ``given``.

    A new one is a copy of the one in ``shared``, which is made if there is none: to make one takes a sixth of a start.

    Raises:
        OSError: if a file cannot be used.
    """
    with tempfile.TemporaryDirectory() as directory:
        # ssl reads only files, so a certificate that is not kept is written to a temporary one.
        path = keep or Path(directory) / "server.pem"
        if not path.exists():
            private_files.keep(path, _new(host, shared))
        context = _context()
        pem = regular_files.read(path)
        try:
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            raise OSError(f"{path} is damaged ({error}); delete it, and another is made") from None
        return context, pem.partition(_END_OF_KEY)[2]


def _new(host: str, shared: Path | None) -> bytes:
    """Make or copy a key and certificate, as PEM."""
    if shared is None:
        certificate, key = certificates.self_signed(["localhost", "kubernetes", host])
        return key + certificate
    if not shared.exists():
        private_files.keep(shared, _new(host, None))
    return regular_files.read(shared)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
