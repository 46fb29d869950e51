"""How a kubelet shows the API server who it is, and others who may use it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from drakit_client.files import private_files
from drakit_kind.clusters import kubeconfig
from drakit_kind.control_plane.authority import Authority, KeyPair
from drakit_kind.processes.slots import Access

_GROUP = "system:nodes"


class NodeCredentials:
    """The kubeconfigs and certificates of a cluster's nodes.

    Each kubelet is ``system:node:<name>`` by certificate, which the Node authorizer and NodeRestriction want.
    """

    def __init__(self, access: Access, authority: Authority) -> None:
        self._access = access
        self._authority = authority

    @property
    def client_ca(self) -> Path:
        """The PEM file of the authority whose clients may ask kubelets for logs and run commands."""
        return self._authority.certificate

    def kubeconfig(self, node: str, path: Path) -> Path:
        """Write the kubeconfig of a node's kubelet to ``path`` (0600)."""
        config = kubeconfig.entry("node", self._access.url, self._access.token, self._access.certificate)
        pair = self._authority.issue(f"node-{node}", user=f"system:node:{node}", groups=[_GROUP])
        config["users"][0]["user"] = _certificate(pair)
        return private_files.write(path, yaml.safe_dump(config))

    def serving(self, node: str, address: str) -> KeyPair:
        """Issue the certificate with which a node's kubelet serves https."""
        user, hosts = f"system:node:{node}", [address, node]
        return self._authority.issue(f"kubelet-{node}", user=user, groups=[_GROUP], hosts=hosts)


def _certificate(pair: KeyPair) -> dict[str, Any]:
    return {
        "client-certificate-data": base64.b64encode(pair.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(pair.key.read_bytes()).decode(),
    }
