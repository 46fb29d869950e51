"""What must hold again after webhooks and policies have changed an object.

After k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/admission.go and dedupOwnerReferencesAndAddWarning in
pkg/endpoints/handlers/rest.go.
"""

from __future__ import annotations

from typing import Any

from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.managedfields import entries
from drakit_embedded.apiserver.scheme import metadata

_INVALID = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: "
)


def tidy(attributes: Attributes, managed_fields: Any) -> None:
    """Remove repeated owners and restore unreadable ``managedFields``, which are given as they were; warn of both."""
    meta = (attributes.object or {}).get("metadata")
    if not isinstance(meta, dict):
        return
    for warning in metadata.without_repeated_owners(meta, patched=True):
        attributes.warn(warning)
    try:
        entries.read(meta.get("managedFields") or [])
    except entries.MalformedEntries as error:
        meta["managedFields"] = managed_fields
        attributes.warn(f"{_INVALID}{error}")


def managed_fields(attributes: Attributes) -> Any:
    """Look up the ``managedFields`` of an object, to give them back if they are spoilt."""
    return ((attributes.object or {}).get("metadata") or {}).get("managedFields")
