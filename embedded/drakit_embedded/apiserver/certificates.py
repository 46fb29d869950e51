"""The serving certificate: the user's, or a self-signed one for loopback that lasts as long as the server."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

_DAYS = 365


def context(cert_file: Path | None, key_file: Path | None, host: str) -> tuple[ssl.SSLContext, bytes]:
    """A server context, and the PEM that clients have to trust. Raises ``OSError`` or ``ValueError``."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert_file and key_file:
        tls.load_cert_chain(cert_file, key_file)
        return tls, cert_file.read_bytes()
    if cert_file or key_file:
        raise ValueError("certificate and key must be given together")
    certificate, key = _self_signed(host)
    # ssl reads files only: the key is in one that only we can read, for as long as that takes.
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key + certificate)
        tls.load_cert_chain(name)
    finally:
        Path(name).unlink()
    return tls, certificate


def _self_signed(host: str) -> tuple[bytes, bytes]:
    # Imported here: it takes 50 ms that a server without TLS need not pay.
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
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
