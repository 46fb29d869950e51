"""Objects of one collection in several API versions.

Only the storage version is kept. Served in more than one form are Events (core and events.k8s.io) and, for clients
that have not moved on, autoscalers and the kinds of resource.k8s.io.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import conversion, encoding, schema
from drakit_embedded.apiserver.registry import dra
from drakit_embedded.apiserver.registry.autoscalers import versions
from drakit_embedded.apiserver.scheme.kinds import Kind

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

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
# core/v1 has them even if empty.
_LEFT_OUT_IF_EMPTY = frozenset({"reportingController", "reportingInstance"})
# The one kind of resource.k8s.io that has no stable version.
_ALPHA_ONLY = "resourcepoolstatusrequests"
_CORE_EVENT_FIELDS = {core: new for new, core in _EVENT_FIELDS.items()}


@dataclass(frozen=True, slots=True)
class Converter:
    """Converts to and from the stored form, whose version is ``api_version``; both without kind and apiVersion."""

    api_version: str
    to_storage: Callable[[Object], Object]
    from_storage: Callable[[Object], Object]


def _to_core_event(obj: Object) -> Object:
    return {_EVENT_FIELDS.get(key, key): value for key, value in obj.items()}


def _from_core_event(obj: Object) -> Object:
    renamed = {_CORE_EVENT_FIELDS.get(key, key): value for key, value in obj.items()}
    return {key: value for key, value in renamed.items() if value or key not in _LEFT_OUT_IF_EMPTY}


_EVENTS = Converter(api_version="v1", to_storage=_to_core_event, from_storage=_from_core_event)
_AUTOSCALERS = Converter("autoscaling/v2", to_storage=versions.to_v2, from_storage=versions.from_v2)


def between(kind: Kind) -> Converter | None:
    """Find the converter between a version of a kind and the stored form; None if both look the same."""
    if (kind.group, kind.plural) == ("events.k8s.io", "events"):
        return _EVENTS
    if (kind.group, kind.version, kind.plural) == ("autoscaling", "v1", "horizontalpodautoscalers"):
        return _AUTOSCALERS
    if kind.group != schema.GROUP or kind.plural == _ALPHA_ONLY:
        return None
    if conversion.same_structure(kind.kind, kind.version):
        return None
    return _older(kind.kind, kind.version)


def _older(kind: str, version: str) -> Converter:
    """Build the converter for a version of resource.k8s.io that differs from v1."""

    def to_storage(obj: Object) -> Object:
        return conversion.to_v1(kind, obj, version)

    def from_storage(obj: Object) -> Object:
        converted = conversion.from_v1(kind, obj, version)
        # No version has mixins, so encoding by its types would drop them.
        return converted if dra.has_mixins(obj) else encoding.encode(kind, converted, version)

    return Converter(f"{schema.GROUP}/{conversion.STORAGE_VERSION}", to_storage, from_storage)


def encode(obj: Object) -> bytes:
    """Encode an object as JSON."""
    return _encode(obj)


def decode(body: bytes) -> Object:
    """Decode an object from JSON."""
    obj: Object = _decode(body)
    return obj
