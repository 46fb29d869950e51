"""What kube-apiserver 1.37.1 serves and the embedded server does not, as docs/clusters.md says."""

from __future__ import annotations

DOCUMENTS = {".well-known/openid-configuration", "openid/v1/jwks"}
# Things that are done to running containers, and proxies to where nothing listens.
BELOW = {
    "nodes": {"proxy"},
    "pods": {"proxy", "resize"},
    "services": {"proxy"},
}
# What only the server itself writes; in the real one they can be changed.
READ_ONLY = {"apiservices": "apiregistration.k8s.io/v1"}
READ_ONLY_VERBS = ["get", "list", "watch"]


def path_is_served(path: str) -> bool:
    """Whether what is below an object is, by a path such as ``/api/v1/namespaces/{namespace}/pods/{name}/exec``."""
    collection, _, below = path.partition("/{name}/")
    return below.partition("/")[0] not in BELOW.get(collection.rpartition("/")[2], ())
