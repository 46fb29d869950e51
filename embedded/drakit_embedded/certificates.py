"""Serving certificates of the API server and of the kubelets: the user's, or a self-signed one for loopback.

A self-signed one can be kept: a kubeconfig stays valid when the server is restarted, and the next start is quicker.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from drakit_client.files import private_files, regular_files

if TYPE_CHECKING:
    from cryptography import x509

# The certificate of the port of simulated kubelets, beside the nodes' directories: no node has this name.
OF_KUBELETS = ".kubelet.crt"
_DAYS = 3650
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


def key_usage(*, ca: bool) -> x509.KeyUsage:
    """Return what the key of a certificate may be used for: signatures of TLS, and those of an authority.

    kubeadm also says keyEncipherment, which RFC 8813 forbids for the elliptic curve keys that all of ours are.
    """
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _new(host: str, shared: Path | None) -> bytes:
    """Make or copy a key and certificate, as PEM."""
    if shared is None:
        certificate, key = _make(host)
        return key + certificate
    if not shared.exists():
        private_files.keep(shared, _new(host, None))
    return regular_files.read(shared)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _make(host: str) -> tuple[bytes, bytes]:
    """Make a certificate and its key, as PEM."""
    # Imported here: it takes 50 ms, which a server without TLS does not need.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "drakit")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.DNSName("kubernetes"), x509.IPAddress(ipaddress.ip_address(host))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(ca=True), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
