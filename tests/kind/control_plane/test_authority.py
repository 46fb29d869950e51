"""Certificates of real components: trusted by one authority, private to the user, the same after a restart."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest

from drakit_kind.control_plane.authority import Authority, KeyPair


def _handshake(authority: Authority, server: KeyPair, client: KeyPair) -> dict[str, str]:
    """Connect client to server over TLS, both verifying strictly, and return the client's subject as the server saw it.

    Strict is RFC 5280 to the letter: a certificate without the extensions that it demands is refused.
    """
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    serving.load_cert_chain(server.certificate, server.key)
    serving.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(cafile=str(authority.certificate))
    calling.load_cert_chain(client.certificate, client.key)
    for context in (serving, calling):
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of clients from Python 3.13 on
    near, far = socket.socketpair()
    seen: dict[str, str] = {}

    def serve() -> None:
        with serving.wrap_socket(far, server_side=True) as connection:
            subject = (connection.getpeercert() or {})["subject"]
            seen.update({str(key): str(value) for ((key, value),) in subject})  # type: ignore[misc,str-unpack]

    thread = threading.Thread(target=serve)
    thread.start()
    with calling.wrap_socket(near, server_hostname="127.0.0.1"):
        thread.join(10)
    return seen


def test_servers_and_clients_of_one_cluster_trust_each_other(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    server = authority.issue("kube-apiserver", user="kube-apiserver", hosts=["127.0.0.1", "localhost"])
    kubelet = authority.issue("kubelet", user="system:node:node-1", groups=["system:nodes"])
    assert _handshake(authority, server, kubelet) == {
        "organizationName": "system:nodes",
        "commonName": "system:node:node-1",
    }


def test_clusters_do_not_trust_each_other(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    server = theirs.issue("server", user="server", hosts=["127.0.0.1"])
    client = ours.issue("client", user="client")
    calling = ssl.create_default_context(cafile=str(ours.certificate))
    calling.load_cert_chain(client.certificate, client.key)
    near, far = socket.socketpair()
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(server.certificate, server.key)

    def serve() -> None:
        with pytest.raises(ssl.SSLError):
            serving.wrap_socket(far, server_side=True)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(ssl.SSLCertVerificationError):
        calling.wrap_socket(near, server_hostname="127.0.0.1")
    thread.join(10)


def test_a_restarted_cluster_has_the_same_authority_and_signs_tokens_with_the_same_key(tmp_path: Path) -> None:
    first, second = Authority(tmp_path), Authority(tmp_path)
    certificate = first.certificate.read_bytes()
    accounts = first.signing_key("service-accounts").key.read_bytes()
    assert second.certificate.read_bytes() == certificate
    assert second.signing_key("service-accounts").key.read_bytes() == accounts


def test_keys_are_private_to_the_user(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    authority.issue("kubelet", user="system:node:node-1")
    authority.signing_key("service-accounts")
    assert (tmp_path / "pki").stat().st_mode & 0o777 == 0o700
    files = list((tmp_path / "pki").iterdir())
    assert {path.name for path in files} == {
        "ca.crt", "ca.key", "kubelet.crt", "kubelet.key", "service-accounts.pub", "service-accounts.key",
    }  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
