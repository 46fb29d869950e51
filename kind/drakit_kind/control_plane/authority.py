"""The certificate authority of a cluster with real components, and the keys that they need at their start.

One authority signs everything: kube-apiserver's and the kubelets' serving certificates, and the client certificates
that they show each other. It is kept in the cluster's directory, so that a restarted cluster is the same one to its
clients.

Certificates have the extensions of kubeadm's (``cmd/kubeadm/app/util/pkiutil``): clients may hold them to RFC 5280, as
Python does from 3.13 on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from drakit_client.certificates import key_usage
from drakit_client.files import private_files, regular_files

_DAYS = 3650
_Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class KeyPair:
    """Files of a certificate and of its private key (0600), both PEM."""

    certificate: Path
    key: Path


class Authority:
    """The authority in ``directory`` (0700), made when it is first used."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def certificate(self) -> Path:
        """The PEM file that clients and servers have to trust."""
        pair = self._pair("ca")
        if not (pair.certificate.exists() and pair.key.exists()):
            key = ec.generate_private_key(ec.SECP256R1())
            subject = _name("drakit-ca")
            self._write(pair, key, _builder(subject, subject, key, ca=True).sign(key, hashes.SHA256()))
        return pair.certificate

    def issue(self, name: str, *, user: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()) -> KeyPair:
        """Issue a certificate for a client that is ``user`` in ``groups``, and for a server on ``hosts``.

        ``name`` is the name of its files; ``hosts`` are DNS names and IP addresses. Each call issues a new certificate,
        in a millisecond, so that a cluster moved to other addresses has the right ones.
        """
        authority = x509.load_pem_x509_certificate(regular_files.read(self.certificate))
        signer = _load(self._pair("ca").key)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(user, groups), authority.subject, key, ca=False)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        pair = self._pair(name)
        self._write(pair, key, builder.sign(signer, hashes.SHA256()))
        return pair

    def signing_key(self, name: str) -> KeyPair:
        """Make a key pair without certificate, or return the existing one, so that tokens signed with it stay valid."""
        pair = KeyPair(self._directory / f"{name}.pub", self._directory / f"{name}.key")
        if not (pair.certificate.exists() and pair.key.exists()):
            key = ec.generate_private_key(ec.SECP256R1())
            public = key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            self._write_files(pair, key, public)
        return pair

    def _pair(self, name: str) -> KeyPair:
        return KeyPair(self._directory / f"{name}.crt", self._directory / f"{name}.key")

    def _write(self, pair: KeyPair, key: _Key, certificate: x509.Certificate) -> None:
        self._write_files(pair, key, certificate.public_bytes(serialization.Encoding.PEM))

    def _write_files(self, pair: KeyPair, key: _Key, public: bytes) -> None:
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        private_files.write(pair.key, private)
        private_files.write(pair.certificate, public)


def _builder(subject: x509.Name, issuer: x509.Name, key: _Key, *, ca: bool) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(key_usage(ca=ca), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if ca:
        return builder
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    return builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)


def _name(user: str, groups: Sequence[str] = ()) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _load(path: Path) -> _Key:
    key = serialization.load_pem_private_key(regular_files.read(path), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key
