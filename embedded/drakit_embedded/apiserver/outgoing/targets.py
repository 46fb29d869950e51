"""Whom a webhook's ``clientConfig`` names (k8s.io/apiserver/pkg/util/webhook/client.go)."""

from __future__ import annotations

import base64
import binascii
import posixpath
from typing import NamedTuple
from urllib.parse import urlsplit

from drakit_api.kubernetes_objects import ReadOnlyObject

_PORT = 443


class Service(NamedTuple):
    """A reference to a Service of the cluster."""

    namespace: str
    name: str
    port: int

    @property
    def host(self) -> str:
        """The name that the certificate must be for."""
        return f"{self.name}.{self.namespace}.svc"


class Target(NamedTuple):
    """Where a webhook is, and how it proves who it is."""

    # As errors show it, without the query: of a Service, its name in the cluster.
    url: str
    # PEM of the authorities that may have signed its certificate; those of this machine if empty.
    authorities: str
    # The Service that stands behind the URL, if it is not to be looked up as it is.
    service: Service | None


def of(config: ReadOnlyObject) -> Target:
    """Read a ``clientConfig``, which validation has accepted."""
    bundle, reference = _decoded(config.get("caBundle") or ""), config.get("service")
    if reference is None:
        parts = urlsplit(config.get("url") or "")
        return Target(f"{parts.scheme}://{parts.netloc}{_path(parts.path)}", bundle, None)
    service = Service(reference["namespace"], reference["name"], reference.get("port") or _PORT)
    return Target(f"https://{service.host}:{service.port}{_path(reference.get('path') or '')}", bundle, service)


def _path(path: str) -> str:
    """Clean a path as client-go does (``path.Join``)."""
    return "/" + posixpath.normpath(f"/{path}").lstrip("/")


def _decoded(bundle: str) -> str:
    try:
        return base64.b64decode(bundle, validate=True).decode("ascii", "replace")
    except (binascii.Error, ValueError):
        return bundle
