"""The Go types of AdmissionReview and ConversionReview, by which answers are read.

k8s.io/api/admission/v1/types.go and k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go.

They are not among the kinds that the server serves, whose types are read from Kubernetes' sources.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.objects.schema import Schema

_TYPE = {"kind": "string", "apiVersion": "string"}
_UID, _RAW = {"scalar": "string", "go": "types.UID"}, "raw"
_EXTRA = {"list": "string", "go": "v1.ExtraValue"}


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, "string")


def _struct(name: str) -> dict[str, str]:
    return {"struct": f"v1.{name}", "go": f"v1.{name}"}


def _named(go: str) -> dict[str, str]:
    return {"scalar": "string", "go": go}


def _list(item: Any, go: str) -> dict[str, Any]:
    return {"list": item, "go": go}


# Of pointers, only those are told apart whose null is something else than their zero value.
_STRUCTS: Mapping[str, Mapping[str, Any]] = {
    "StatusCause": {**_texts("message", "field"), "reason": _named("v1.CauseType")},
    "StatusDetails": {
        **_texts("name", "group", "kind"),
        "uid": _UID,
        "causes": _list(_struct("StatusCause"), "[]v1.StatusCause"),
        "retryAfterSeconds": "int32",
    },
    "ListMeta": {**_texts("selfLink", "resourceVersion", "continue"), "remainingItemCount": {"pointer": "int64"}},
    "Status": {
        **_TYPE,
        **_texts("status", "message"),
        "metadata": _struct("ListMeta"),
        "reason": _named("v1.StatusReason"),
        "details": {"pointer": _struct("StatusDetails")},
        "code": "int32",
    },
    "GroupVersionKind": _texts("group", "version", "kind"),
    "GroupVersionResource": _texts("group", "version", "resource"),
    "UserInfo": {
        **_texts("username", "uid"),
        "groups": _list("string", "[]string"),
        "extra": {"map": _EXTRA, "go": "map[string]v1.ExtraValue"},
    },
    "AdmissionRequest": {
        **_texts("subResource", "requestSubResource", "name", "namespace"),
        "uid": _UID,
        "kind": _struct("GroupVersionKind"),
        "resource": _struct("GroupVersionResource"),
        "requestKind": {"pointer": _struct("GroupVersionKind")},
        "requestResource": {"pointer": _struct("GroupVersionResource")},
        "operation": _named("v1.Operation"),
        "userInfo": _struct("UserInfo"),
        **dict.fromkeys(("object", "oldObject", "options"), _RAW),
        "dryRun": {"pointer": "bool"},
    },
    "AdmissionResponse": {
        "uid": _UID,
        "allowed": "bool",
        "status": {"pointer": _struct("Status")},
        "patch": {"scalar": "bytes", "go": "[]uint8"},
        "patchType": {"pointer": _named("v1.PatchType")},
        "auditAnnotations": {"map": "string", "go": "map[string]string"},
        "warnings": _list("string", "[]string"),
    },
    "AdmissionReview": {
        **_TYPE,
        "request": {"pointer": _struct("AdmissionRequest")},
        "response": {"pointer": _struct("AdmissionResponse")},
    },
    "ConversionRequest": {
        "uid": _UID,
        "desiredAPIVersion": "string",
        "objects": _list(_RAW, "[]runtime.RawExtension"),
    },
    "ConversionResponse": {
        "uid": _UID,
        "convertedObjects": _list(_RAW, "[]runtime.RawExtension"),
        "result": _struct("Status"),
    },
    "ConversionReview": {
        **_TYPE,
        "request": {"pointer": _struct("ConversionRequest")},
        "response": {"pointer": _struct("ConversionResponse")},
    },
}


@functools.cache
def _types() -> Schema:
    structs = {
        f"v1.{name}": [{"go": field, "name": field, "omit": True, "type": kind} for field, kind in fields.items()]
        for name, fields in _STRUCTS.items()
    }
    return Schema(msgspec.json.encode({"kinds": {}, "structs": structs}))


def read(review: Object, kind: str) -> Object:
    """Read a review of a kind by the types of its fields; what Go does not know is left out.

    Raises:
        DecodeError: for the first value of a wrong type.
    """
    found: Object = decoding.decode_part(_types(), f"v1.{kind}", review, f"v1.{kind}", "")[0]
    return found


def details(status: Object) -> Object:
    """Reduce the details of a Status to what is not empty."""
    found = status.get("details") or {}
    causes = [_filled(cause) for cause in found.get("causes") or ()]
    return {**_filled(found), **({"causes": causes} if causes else {})}


def _filled(found: Object) -> Object:
    return {name: value for name, value in found.items() if value}
