"""Kubeconfigs for servers without TLS that tests have started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def write(path: Path, server: str, token: str, *, namespace: str = "") -> Path:
    """Write one that sends a token to the server of a URL; ``namespace`` is that of its context."""
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path
