"""What expressions of mutating policies make: objects to be merged, and operations of a JSON patch.

Sources, ``k8s.io/apiserver`` v0.37: ``pkg/cel/mutation`` (the types ``Object...``, whose fields may be any, and
``JSONPatch``), ``pkg/cel/library/jsonpatch.go``, ``pkg/admission/plugin/policy/mutating/patch`` (what becomes of the
values).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import conversions
from drakit_api.cel.values import types
from drakit_api.cel.values.declarations import overload
from drakit_api.cel.values.keys import map_keys
from drakit_api.cel.values.types import Type
from drakit_api.cel.values.values import LISTS, MAPS, Duration, Struct, Timestamp, Uint, type_name
from drakit_api.golang.gostrings import quote

if TYPE_CHECKING:
    from drakit_api.cel.checking.environment import Structs

OBJECT: Final = types.struct("Object")
JSON_PATCH: Final = types.struct("JSONPatch")
_PATCH_FIELDS: Final = {
    **dict.fromkeys(("op", "path", "from"), types.STRING),
    "value": types.DYN,
}


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


FUNCTIONS = [overload("jsonpatch::escapeKey(string) -> string", _escape_key)]


@dataclass(frozen=True, slots=True)
class PatchStructs:
    """The object types of an environment, and those of patches."""

    others: Structs

    def knows(self, name: str) -> bool:
        """Tell whether there is a type of this name: ``Object``, with any names behind it, is one."""
        return name in ("JSONPatch", "Object") or name.startswith("Object.") or self.others.knows(name)

    def field(self, name: str, field: str) -> Type | None:
        """Return the type of a field; None if there is no such field in a type that does not take any."""
        if name == "JSONPatch":
            return _PATCH_FIELDS.get(field, types.NOTHING)
        return types.DYN if self.knows(name) and not self.others.knows(name) else self.others.field(name, field)


def merged_object(value: Any) -> dict[str, Any]:
    """Return the object that an apply configuration makes, as JSON.

    Raises ``CelRuntimeError`` where the name of a type is not that of its place, or a value is not of JSON.
    """
    if type(value) is not Struct:
        raise CelRuntimeError(f"unsupported return type from ApplyConfiguration expression: {type_name(value)}")
    _check_names(value)
    return {name: _native(part) for name, part in value.items()}


def operations(value: Any) -> list[dict[str, Any]]:
    """Return the operations of a JSON patch that an expression makes. Raises as ``merged_object`` does."""
    return [_operation(each) for each in value]


def _operation(value: Any) -> dict[str, Any]:
    if type(value) is not Struct or value.name != JSON_PATCH.name:
        raise CelRuntimeError(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: "
            f"cannot convert to native type: {type_name(value)}"
        )
    operation: dict[str, Any] = {"op": _text(value, "op"), "path": _text(value, "path")}
    if origin := _text(value, "from"):
        operation["from"] = origin
    if "value" in value:
        content = value["value"]
        if type(content) is Struct:
            _check_names(content)
        operation["value"] = _json(content)
    return operation


def _text(patch: Struct, field: str) -> str:
    value = patch.get(field, "")
    if type(value) is not str:
        raise CelRuntimeError(
            f"unexpected type {_GO_TYPES.get(type(value), type_name(value))} for JSONPatchType '{field}' field"
        )
    return value


_GO_TYPES: dict[type, str] = {int: "int64", bool: "bool", float: "float64", Uint: "uint64", bytes: "[]uint8"}


def _check_names(value: Struct) -> None:
    problems = list(_misnamed(value, value.name))
    if problems:
        raise CelRuntimeError("type mismatch: " + "\n".join(problems))


def _misnamed(value: Any, expected: str) -> Iterator[str]:
    """List the objects in a value whose types have other names than their places; lists and maps have no names."""
    kind = type(value)
    if kind is Struct:
        if value.name != expected:
            matches = "which matches field name path from root Object type"
            yield f"unexpected type name {quote(value.name)}, expected {quote(expected)}, {matches}"
        for name, part in value.items():
            yield from _misnamed(part, f"{expected}.{name}")
    elif kind in LISTS:
        for part in value:
            yield from _misnamed(part, expected)
    elif kind in MAPS:
        for part in value.values():
            yield from _misnamed(part, expected)


def _native(value: Any) -> Any:
    """Convert a value of an apply configuration into JSON."""
    return _converted(value, _native)


def _json(value: Any) -> Any:
    """Convert a value of a JSON patch into JSON, as protobuf's ``Value`` has it: its numbers are doubles."""
    kind = type(value)
    if kind in (int, Uint):
        return value if abs(value) < 2**53 else str(int(value))
    if kind is float and abs(value) < 2**53 and value.is_integer():
        return int(value)
    return _converted(value, _json)


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind in LISTS:
        return [convert(part) for part in value]
    if kind in MAPS:
        return {_key(key): convert(part) for key, part in zip(map_keys(value), value.values(), strict=True)}
    if kind in (Timestamp, Duration):
        return conversions.to_string(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Uint:
        return int(value)
    if value is None or kind in (bool, int, float, str):
        return value
    raise CelRuntimeError(f"type conversion error from '{type_name(value)}' to JSON")


def _key(key: Any) -> str:
    if type(key) is not str:
        raise CelRuntimeError(f"map key {key} is of type {type_name(key)}, not string")
    return key
