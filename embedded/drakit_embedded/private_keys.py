"""Private keys in PEM files that only their owner can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drakit_client.files import private_files, regular_files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


def read(path: Path) -> EllipticCurvePrivateKey | RSAPrivateKey:
    """Read an RSA or P-256 key.

    Raises:
        ValueError: for any other content.
        OSError: if the file cannot be read.
    """
    return _key(path.read_bytes())


def _key(pem: bytes) -> EllipticCurvePrivateKey | RSAPrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    key = serialization.load_pem_private_key(pem, password=None)
    if isinstance(key, rsa.RSAPrivateKey):
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return key
    raise ValueError("neither an RSA nor a P-256 key")


def kept(path: Path | None) -> EllipticCurvePrivateKey | RSAPrivateKey:
    """Read the key in a file, or generate and store one; without a file it is not stored. Raises as ``read`` does."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if path is not None and path.exists():
        return _key(regular_files.read(path))
    key = ec.generate_private_key(ec.SECP256R1())
    if path is not None:
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        private_files.write(path, pem)
    return key
