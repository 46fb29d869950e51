"""Objects of a write in the version in which a webhook or a policy is to see them.

After k8s.io/apiserver/pkg/admission/conversion.go.
"""

from __future__ import annotations

import msgspec

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.scheme.kinds import GroupVersionKind, Kind, handled

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def shown(obj: ReadOnlyObject | None, attributes: Attributes, kind: Kind, cluster: GuardedCluster) -> Object | None:
    """Show an object of a write in a kind, as a client would read it; None if there is no object."""
    if obj is None:
        return None
    typed = handled(kind, attributes.subresource)
    # A copy, as conversions may share parts with the object.
    copied: Object = _decode(_encode(obj))
    if not _is_special(attributes):
        copied = cluster.shown(copied, attributes.kind, kind)
        if any(isinstance(part, msgspec.Raw) for part in copied.values()):
            # The form in which it would be stored; here it is to be read.
            copied = _decode(_encode(copied))
    return {"kind": typed.kind, "apiVersion": _api_version(typed), **copied}


def taken(obj: Object, attributes: Attributes, kind: Kind, cluster: GuardedCluster, *, strict: bool = False) -> Object:
    """Read what became of a shown object, without defaults: in the form that ``attributes`` has.

    Unknown fields go; with ``strict``, those of kinds with Go types are an error.

    Raises:
        StatusError: if its fields are not of the types that the kind has.
    """
    special = _is_special(attributes)
    if special or kind.definition is None:
        obj = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
    return obj if special else cluster.taken(obj, attributes.kind, kind, strict=strict)


def _is_special(attributes: Attributes) -> bool:
    """Check whether the object is not of the kind that the path names, as a Scale."""
    return handled(attributes.kind, attributes.subresource) != handled(attributes.kind, "")


def _api_version(typed: GroupVersionKind) -> str:
    return f"{typed.group}/{typed.version}" if typed.group else typed.version
