"""The typed objects say of each field what Go says of it (``objects/schema.json``, printed from ``k8s.io/api``)."""

from __future__ import annotations

from typing import Any, NotRequired, get_origin, get_type_hints, is_typeddict

import pytest

from drakit_api import typed_objects
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import schema

_TYPES = {name: value for name, value in vars(typed_objects).items() if is_typeddict(value)}
_STRUCTS = {struct.split(".")[-1]: struct for struct in schema.load().structs if struct.split(".")[0].endswith("/v1")}
_SHAPES: dict[str, Any] = {
    "string": str, "quantity": str, "time": str, "bool": bool, "int": int, "raw": Object,
}  # fmt: skip
# Go always prints them, and who writes an object may leave them out (``+optional`` in types.go).
_LEFT_OUT = {
    ("AllocatedDeviceStatus", "conditions"),
    ("AllocationResult", "devices"),
    ("CapacityRequestPolicy", "default"),
    ("DeviceClaim", "requests"),
    ("ResourceClaim", "status"),
    ("ResourceClaimSpec", "devices"),
}
# Nobody in drakit reads their fields by name.
_UNREAD = "managedFields"


def _python_type(type_: schema.Type) -> Any:
    if type_.shape == "struct":
        return _TYPES[type_.struct.split(".")[-1]]
    if type_.item is None:
        return _SHAPES[type_.shape]
    item = _python_type(type_.item)
    return list[item] if type_.shape == "list" else dict[str, item]  # type: ignore[valid-type]


@pytest.mark.parametrize("name", sorted(_TYPES))
def test_fields_are_those_of_go(name: str) -> None:
    expected: dict[str, Any] = {}
    for field in schema.fields_of(_STRUCTS[name]):
        type_ = list[Object] if field.name == _UNREAD else _python_type(field.type)
        expected[field.name] = type_ | None if field.type.pointer and not field.omit else type_
    assert get_type_hints(_TYPES[name]) == expected


@pytest.mark.parametrize("name", sorted(_TYPES))
def test_what_go_leaves_out_when_empty_may_be_missing(name: str) -> None:
    fields = schema.fields_of(_STRUCTS[name])
    expected = {each.name for each in fields if each.omit or (name, each.name) in _LEFT_OUT}
    assert {field for field, hint in _hints(name).items() if _may_be_missing(name, hint)} == expected


def _hints(name: str) -> dict[str, Any]:
    return get_type_hints(_TYPES[name], include_extras=True)


def _may_be_missing(name: str, hint: Any) -> bool:
    return get_origin(hint) is NotRequired or not _TYPES[name].__total__
