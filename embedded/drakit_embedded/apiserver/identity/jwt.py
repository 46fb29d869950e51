"""Signed tokens (RFC 7519): ES256 or RS256, whichever the key is for, and nothing else that a header may ask for.

After k8s.io/kubernetes/pkg/serviceaccount/jwt.go.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from drakit_embedded import private_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

Claims = dict[str, Any]
_P256_BYTES = 32


class SigningKey:
    """The key of one server, made or read when a token is first signed or checked: its library takes 50 ms to import.

    ``given`` is a PEM file with an RSA or P-256 key; without it ``keep``, if given, is where one of our own is kept.
    """

    def __init__(self, given: Path | None = None, keep: Path | None = None) -> None:
        self._given, self._keep = given, keep

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey | RSAPrivateKey:
        return private_keys.read(self._given) if self._given is not None else private_keys.kept(self._keep)

    @cached_property
    def _id(self) -> str:
        from cryptography.hazmat.primitives import serialization

        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _encoded(hashlib.sha256(public).digest())

    @cached_property
    def _algorithm(self) -> str:
        from cryptography.hazmat.primitives.asymmetric import rsa

        return "RS256" if isinstance(self._key, rsa.RSAPrivateKey) else "ES256"

    @property
    def algorithm(self) -> str:
        """``ES256`` or ``RS256``."""
        return self._algorithm

    def public(self) -> dict[str, str]:
        """The public half as a JSON Web Key (RFC 7517)."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = {"use": "sig", "kty": "EC", "kid": self._id, "crv": "P-256", "alg": self._algorithm}
        if isinstance(self._key, rsa.RSAPrivateKey):
            numbers = self._key.public_key().public_numbers()
            del key["crv"]
            return {**key, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = self._key.public_key().public_numbers()
        return {**key, "x": _number(point.x, _P256_BYTES), "y": _number(point.y, _P256_BYTES)}

    def check(self) -> None:
        """Read the key now; ``OSError`` or ``ValueError`` if it cannot be used."""
        if self._given is not None:
            _ = self._key

    def sign(self, claims: Claims) -> str:
        """A token."""
        header = {"alg": self._algorithm, "kid": self._id}
        text = ".".join(_encoded(msgspec.json.encode(part)) for part in (header, claims))
        return f"{text}.{_encoded(self._signature(text.encode()))}"

    def _signature(self, text: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(text, padding.PKCS1v15(), hashes.SHA256())
        r, s = utils.decode_dss_signature(self._key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_P256_BYTES, "big") + s.to_bytes(_P256_BYTES, "big")

    def verified(self, token: str) -> Claims | None:
        """The claims of a token that this key has signed, or None."""
        text, _, signature = token.rpartition(".")
        header, _, claims = text.partition(".")
        try:
            head = msgspec.json.decode(_decoded(header), type=dict[str, Any])
            if head.get("alg") != self._algorithm or head.get("kid", self._id) != self._id:
                return None
            if not self._is_signature(text.encode(), _decoded(signature)):
                return None
            return msgspec.json.decode(_decoded(claims), type=dict[str, Any])
        except (msgspec.DecodeError, binascii.Error, UnicodeError):
            return None

    def _is_signature(self, text: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

        try:
            if isinstance(self._key, rsa.RSAPrivateKey):
                self._key.public_key().verify(signature, text, padding.PKCS1v15(), hashes.SHA256())
                return True
            if len(signature) != 2 * _P256_BYTES:
                return False
            r, s = (int.from_bytes(part, "big") for part in (signature[:_P256_BYTES], signature[_P256_BYTES:]))
            self._key.public_key().verify(utils.encode_dss_signature(r, s), text, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _number(value: int, size: int | None = None) -> str:
    return _encoded(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def _decoded(text: str) -> bytes:
    # Python's decoder would take padding and the characters of another alphabet, and leave out what is no base64.
    if any(character in text for character in "=+/"):
        raise binascii.Error("not as in a URL")
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)
