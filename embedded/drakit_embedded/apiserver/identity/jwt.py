"""Signed tokens (RFC 7519): ES256 or RS256, whichever the key is for, and nothing else that a header may ask for.

After k8s.io/kubernetes/pkg/serviceaccount/jwt.go.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from drakit_embedded import private_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from jwt import PyJWS

Claims = dict[str, Any]
_P256_BYTES = 32


class SigningKey:
    """The signing key of one server, read or made on first use: its library takes 50 ms to import.

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
        """Encode the public half as a JSON Web Key (RFC 7517)."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = {"use": "sig", "kty": "EC", "kid": self._id, "crv": "P-256", "alg": self._algorithm}
        if isinstance(self._key, rsa.RSAPrivateKey):
            numbers = self._key.public_key().public_numbers()
            del key["crv"]
            return {**key, "kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = self._key.public_key().public_numbers()
        return {**key, "x": _number(point.x, _P256_BYTES), "y": _number(point.y, _P256_BYTES)}

    def check(self) -> None:
        """Read a given key now, to raise ``OSError`` or ``ValueError`` if it cannot be used."""
        if self._given is not None:
            _ = self._key

    def sign(self, claims: Claims) -> str:
        """Return a token. Its header has ``alg`` and ``kid``, as Kubernetes' tokens have."""
        return self._library().encode(
            msgspec.json.encode(claims), self._key, algorithm=self._algorithm, headers={"kid": self._id, "typ": ""}
        )

    def verified(self, token: str) -> Claims | None:
        """Return the claims of a token that this key has signed, or None.

        Only the signature is checked here: times and audiences are the business of who knows Kubernetes' words.
        """
        from jwt import InvalidTokenError

        if "=" in token:
            return None  # the library accepts padding, which tokens do not have
        try:
            found = self._library().decode_complete(token, self._key.public_key(), algorithms=[self._algorithm])
            if found["header"].get("kid", self._id) != self._id:
                return None
            return msgspec.json.decode(found["payload"], type=dict[str, Any])
        except (InvalidTokenError, msgspec.DecodeError, UnicodeError):
            return None

    def _library(self) -> PyJWS:
        from jwt import PyJWS

        return PyJWS(algorithms=[self._algorithm])


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _number(value: int, size: int | None = None) -> str:
    return _encoded(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))
