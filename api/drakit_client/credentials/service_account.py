"""A pod's own access to the API server of its cluster, from what the kubelet puts into each container.

The official client can read it as well, at the price of its import (see ``kubeconfig``).
Source: client-go, rest/config.go (InClusterConfig).
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from drakit_client.credentials.access import Access, TokenFile, content, trusting
from drakit_client.errors import ConfigurationError

DIRECTORY = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def read() -> Access:
    """Read a pod's access. Raises ``ConfigurationError`` outside of a pod, or without a service account's token."""
    host, port = os.environ.get(_HOST), os.environ.get(_PORT)
    if not host or not port:
        missing = _HOST if not host else _PORT
        raise ConfigurationError(f"${missing} is not set, so this is not a pod")
    name = "the pod's service account (automountServiceAccountToken)"
    token = TokenFile(DIRECTORY / "token", name)
    authority = DIRECTORY / "ca.crt"
    try:
        tls = trusting(content(authority, name))
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(f"{name}: {authority} is no certificate in PEM form ({error})") from error
    return Access(f"https://{_bracketed(host)}:{port}", token, tls)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
