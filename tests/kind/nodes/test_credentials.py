"""Who a kubelet is to the API server, and who others are to it."""

from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from drakit_kind.cluster import ClusterSpec, check_names
from drakit_kind.control_plane.authority import Authority
from drakit_kind.nodes.credentials import NodeCredentials
from drakit_kind.processes.slots import Access

ACCESS = Access("https://127.0.0.1:6443", "of-the-cluster", b"PEM")


def kubeconfig(tmp_path: Path, node: str) -> dict[str, Any]:
    credentials = NodeCredentials(ACCESS, Authority(tmp_path / "pki"))
    path = credentials.kubeconfig(node, tmp_path / "n" / node / "kubeconfig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    assert loaded["clusters"][0]["cluster"]["server"] == ACCESS.url
    return loaded


def names(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str | bytes]:
    return [name.value for name in certificate.subject.get_attributes_for_oid(oid)]


@pytest.mark.parametrize("node", ["node-1", "n" * 52])
def test_each_kubelet_is_its_node(tmp_path: Path, node: str) -> None:
    """As the Node authorizer wants it: kubernetes.io/docs/reference/access-authn-authz/node."""
    check_names(ClusterSpec(nodes=[node], real=frozenset({"kubelet"})))
    (user,) = kubeconfig(tmp_path, node)["users"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(user["user"]["client-certificate-data"]))
    assert names(certificate, NameOID.COMMON_NAME) == [f"system:node:{node}"]
    assert names(certificate, NameOID.ORGANIZATION_NAME) == ["system:nodes"]
    assert "token" not in user["user"]


def test_a_kubelet_serves_at_its_address(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    pair = NodeCredentials(ACCESS, authority).serving("node-1", "10.213.0.1")
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate.read_bytes()))
    alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in alternatives] == ["10.213.0.1", "node-1"]
