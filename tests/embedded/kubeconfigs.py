"""Kubeconfigs for servers over TLS that tests have started."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drakit_embedded.apiserver import Server


def write(server: Server, token: str, directory: Path) -> Path:
    """Write one that trusts the certificate of a server, and sends a token."""
    assert server.ca_certificate is not None
    authority = base64.b64encode(server.ca_certificate).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "t",
        "clusters": [{"name": "t", "cluster": {"server": server.url, "certificate-authority-data": authority}}],
        "users": [{"name": "t", "user": {"token": token}}],
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t"}}],
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(config))
    return path
