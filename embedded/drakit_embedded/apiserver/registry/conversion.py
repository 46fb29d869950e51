"""Objects of one collection in several API versions.

Only the storage version is kept. Two kinds are served in more than one form: Events (core and events.k8s.io) and, for
clients that have not moved on, the older versions of resource.k8s.io.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from drakit_embedded.apiserver.registry.kinds import Kind

Object = dict[str, Any]
_encode = msgspec.json.Encoder().encode

# events.k8s.io/v1 and the name of the same field in core/v1 (k8s.io/kubernetes/pkg/apis/events/v1/conversion.go).
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_CORE_EVENT_FIELDS = {core: new for new, core in _EVENT_FIELDS.items()}


@dataclass(frozen=True, slots=True)
class Converter:
    """To and from the stored form, both without kind and apiVersion."""

    to_storage: Callable[[Object], Object]
    from_storage: Callable[[Object], Object]


def _renaming(names: dict[str, str]) -> Callable[[Object], Object]:
    return lambda obj: {names.get(key, key): value for key, value in obj.items()}


_EVENTS = Converter(to_storage=_renaming(_EVENT_FIELDS), from_storage=_renaming(_CORE_EVENT_FIELDS))
# v1beta2 has the structure of v1 (k8s.io/api/resource/v1beta2/types.go).
_SAME_STRUCTURE = ("v1beta2", "v1alpha3")


def known(kind: Kind, version: str) -> bool:
    """Whether objects of this kind can be converted to that version."""
    return version == kind.version or version in _SAME_STRUCTURE


def between(kind: Kind, version: str) -> Converter | None:
    """The converter for a kind in a version, or None if the stored form is that of the version."""
    if (kind.group, kind.plural) == ("events.k8s.io", "events"):
        return _EVENTS
    return None


def encode(obj: Object) -> bytes:
    """JSON."""
    return _encode(obj)
