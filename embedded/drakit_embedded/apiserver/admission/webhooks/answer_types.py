"""The Go types of AdmissionReview and ConversionReview as far as answers use them.

k8s.io/api/admission/v1/types.go and k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go.

They are not among the kinds that the server serves, whose types are read from Kubernetes' sources.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from drakit_api.golang import gojson
from drakit_api.kubernetes_objects import Object

_INT32 = 2**31


class TypeFault(Exception):
    """A value of another type than Go's, in the words of encoding/json."""


class _Struct(NamedTuple):
    """A struct: its name, and the types of its fields."""

    name: str
    fields: Mapping[str, _Type]


class _List(NamedTuple):
    """A slice."""

    item: _Type
    shown: str


_Type = str | _Struct | _List
# The one map there is.
_TEXTS = "map[string]string"
_STATUS_CAUSE = _Struct("StatusCause", {"reason": "v1.CauseType", "message": "string", "field": "string"})
_STATUS_DETAILS = _Struct(
    "StatusDetails",
    {
        **dict.fromkeys(("name", "group", "kind"), "string"),
        "uid": "types.UID",
        "causes": _List(_STATUS_CAUSE, "[]v1.StatusCause"),
        "retryAfterSeconds": "int32",
    },
)
_STATUS = _Struct(
    "Status",
    {
        **dict.fromkeys(("kind", "apiVersion", "status", "message"), "string"),
        "reason": "v1.StatusReason",
        "details": _STATUS_DETAILS,
        "code": "int32",
    },
)
_RESPONSE = _Struct(
    "AdmissionResponse",
    {
        "uid": "types.UID",
        "allowed": "bool",
        "status": _STATUS,
        "patch": "[]uint8",
        "patchType": "v1.PatchType",
        "auditAnnotations": _TEXTS,
        "warnings": _List("string", "[]string"),
    },
)
_REVIEW = _Struct("AdmissionReview", {"response": _RESPONSE})
_CONVERSION_RESPONSE = _Struct(
    "ConversionResponse",
    {"uid": "types.UID", "convertedObjects": _List("any", "[]runtime.RawExtension"), "result": _STATUS},
)
_CONVERSION_REVIEW = _Struct("ConversionReview", {"response": _CONVERSION_RESPONSE})


def check(review: Object) -> None:
    """Check the fields of a review by their types; fields that Go does not know may be anything.

    Raises:
        TypeFault: for the first value of a wrong type.
    """
    _check_struct(review, _REVIEW, "")


def check_conversion(review: Object) -> None:
    """Check the fields of a ConversionReview in the same way."""
    _check_struct(review, _CONVERSION_REVIEW, "")


def decoded_bytes(text: str | None) -> bytes:
    """Decode a ``[]byte``, which ``check`` has found to be base64."""
    return base64.b64decode(text) if text else b""


def status_fields(status: Object) -> Object:
    """Reduce a Status to the fields that Go knows and that are not empty."""
    details = status.get("details") or {}
    causes = [_known(cause, _STATUS_CAUSE.fields) for cause in details.get("causes") or () if isinstance(cause, dict)]
    known = {**_known(details, _STATUS_DETAILS.fields), **({"causes": causes} if causes else {})}
    return {**_known(status, _STATUS.fields), **({"details": known} if known else {})}


def _known(found: Object, fields: Mapping[str, Any]) -> Object:
    return {name: found[name] for name in fields if found.get(name)}


def _check_struct(found: Object, struct: _Struct, path: str) -> None:
    for name, wanted in struct.fields.items():
        if found.get(name) is not None:
            _check(found[name], wanted, struct.name, f"{path}.{name}" if path else name)


def _check(value: Any, wanted: _Type, struct: str, path: str) -> None:
    """Check a value, which is not null, of a field of ``struct``."""
    items: Iterable[Any] = ()
    item: _Type = "string"
    if isinstance(wanted, _Struct):
        if not isinstance(value, dict):
            raise _fault(value, struct, path, f"v1.{wanted.name}")
        _check_struct(value, wanted, path)
    elif isinstance(wanted, _List):
        if not isinstance(value, list):
            raise _fault(value, struct, path, wanted.shown)
        items, item = value, wanted.item
    elif wanted == _TEXTS:
        if not isinstance(value, dict):
            raise _fault(value, struct, path, wanted)
        items = value.values()
    else:
        _check_scalar(value, wanted, struct, path)
    for each in items:
        if each is not None:
            _check(each, item, struct, path)


def _check_scalar(value: Any, wanted: str, struct: str, path: str) -> None:
    is_of: Callable[[Any], bool] = _SCALARS.get(wanted, _is_string)
    if not is_of(value):
        raise _fault(value, struct, path, wanted)
    if wanted == "[]uint8":
        _check_base64(value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_int32(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_INT32 <= value < _INT32


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int32": _is_int32,
    "any": lambda _: True,
}


def _fault(value: Any, struct: str, path: str, into: str) -> TypeFault:
    found = gojson.name_of(value)
    if into == "int32" and found == "number":
        found = f"number {value}"
    return TypeFault(f"json: cannot unmarshal {found} into Go struct field {struct}.{path} of type {into}")


def _check_base64(text: str) -> None:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise TypeFault(f"illegal base64 data at input byte {_first_illegal(text)}") from None


def _first_illegal(text: str) -> int:
    """Find where the decoder of encoding/base64 gives up."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for position, character in enumerate(text.encode("utf-8", "replace")):
        if chr(character) not in alphabet:
            return position
    return len(text)
