"""The options of a read of one object: hardly anybody sends them, and only wrong ones change the answer.

After k8s.io/apiserver/pkg/endpoints/handlers/get.go and pkg/storage/etcd3/store.go (``Get``).
"""

from __future__ import annotations

from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.requests import Query, resource_version
from drakit_embedded.apiserver.storage.store import Store


def check(query: Query, store: Store) -> None:
    """Check the options: 400 for an export, 500 for a malformed version, 504 for one that is yet to come."""
    if query.flag("export"):
        raise statuses.bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    try:
        version = resource_version(query.text("resourceVersion"))
    except ValueError as error:
        raise statuses.StatusError(500, "", str(error)) from None
    if version is not None and version > store.version:
        raise statuses.too_large_version(version, store.version)
