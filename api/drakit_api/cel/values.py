"""How CEL values look in Python, and what is the same for all of them: kinds, equality, order.

bool, str, bytes, float, None, list and dict stand for themselves, int for CEL's int; everything else has a class here.
Two of Python's habits must not leak: ``True == 1`` (CEL: never equal) and ``True`` and ``1`` as the same dict key.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from drakit_api.quantity import Quantity
from drakit_api.semver import Version

from .errors import CelRuntimeError

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Uint(int):
    """CEL's uint, 0 to 2^64-1. Arithmetic goes through the operators module, never through int's methods."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970."""

    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    nanoseconds: int


@functools.total_ordering
class Semver:
    """A version with its order computed once; comparing versions of the semver library costs microseconds each time."""

    __slots__ = ("key", "version")

    def __init__(self, version: Version) -> None:
        self.version = version
        # A release is greater than its pre-releases; numeric identifiers are lower than others (semver.org, 11).
        parts = version.prerelease.split(".") if version.prerelease else []
        identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
        self.key = (version.major, version.minor, version.patch, not parts, identifiers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: Semver) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key[:4])


class Optional:
    """A value that may be absent; ``NONE`` is the absent one."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


ABSENT: Final = object()
NONE: Final = Optional(ABSENT)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What ``type(x)`` returns."""

    name: str


class Boolean:
    """Stands for a bool as a map key, since ``True`` and ``1`` are one key in Python."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


_KEYS = {True: Boolean(True), False: Boolean(False)}


class Domains(dict[str, dict[str, Any]]):
    """``device.attributes`` and ``device.capacity``: asking for an unknown domain gives an empty map.

    ``in`` and iteration tell only the domains that exist, as upstream's wrapped map does
    (``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go``).
    """

    __slots__ = ()
    _EMPTY: Final[dict[str, Any]] = {}

    def __missing__(self, domain: str) -> dict[str, Any]:
        return self._EMPTY


LISTS: Final = (list,)
MAPS: Final = (dict, Domains)
NUMBERS: Final = frozenset({int, float, Uint})
_GO_TYPES = {
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Optional: "*types.Optional",
    TypeValue: "*types.Type",
    Quantity: "cel.Quantity",
    Semver: "cel.Semver",
}
_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Domains: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
}
# Comparing one of these with another type is an error; everywhere else in CEL it is just false.
_STRICT: set[type] = {Quantity, Semver}


def register(cls: type, name: str, *, strict: bool = False) -> None:
    """Make a library's value class known under its CEL type name."""
    _NAMES[cls] = name
    if strict:
        _STRICT.add(cls)


def type_name(value: Any) -> str:
    """The name of the value's type, as ``type(x)`` and error messages have it."""
    return _NAMES[type(value)]


def go_type(value: Any) -> str:
    """The Go type that holds such a value upstream; some of its messages show it."""
    return _GO_TYPES.get(type(value), type_name(value))


def no_such_overload(function: str = "", *arguments: Any) -> CelRuntimeError:
    """The error for arguments that no variant of a function takes."""
    if not function or not arguments:
        return CelRuntimeError(f"no such overload: {function}" if function else "no such overload")
    return CelRuntimeError(f"no such overload: {function}({', '.join(map(type_name, arguments))})")


def map_key(key: Any) -> Any:
    """A CEL key as a dict key."""
    return _KEYS[key] if type(key) is bool else key


def map_keys(value: Iterable[Any]) -> Iterator[Any]:
    """The CEL keys of a map."""
    return (key.value if type(key) is Boolean else key for key in value)


def equal(left: Any, right: Any) -> bool:
    """``==``: numbers by value across types, everything else only within its type."""
    kind, other = type(left), type(right)
    if kind in NUMBERS:
        return other in NUMBERS and bool(left == right)
    if kind in MAPS:
        return other in MAPS and _equal_maps(left, right)
    if kind is not other:
        if kind in _STRICT:
            raise no_such_overload()
        return False
    if kind is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if kind is Optional:
        if left is NONE or right is NONE:
            return left is right
        return equal(left.value, right.value)
    return bool(left == right)


def _equal_maps(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    return all(key in right and equal(value, right[key]) for key, value in left.items())
