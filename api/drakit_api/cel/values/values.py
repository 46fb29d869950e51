"""How CEL values look in Python: their kinds and what these are called.

bool, str, bytes, float, None and list stand for themselves, int for CEL's int and dict, with keys from ``keys``, for
its map; everything else has a class here. Python's ``True == 1`` must not leak: ``equality`` compares.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, SupportsIndex, overload

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import budget
from drakit_api.quantity import Quantity
from drakit_api.semver import Version

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


class Failed(NamedTuple):
    """The error of a variable's value; it is raised where the variable is used, as upstream evaluates it only there."""

    kind: type[Exception]
    message: str


ABSENT: Final = object()
NONE: Final = Optional(ABSENT)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What ``type(x)`` returns."""

    name: str


class Concatenated(Sequence[Any]):
    """The sum of two lists that have elements.

    It refers to both and copies nothing, as upstream's ``concatList`` (cel-go ``common/types/list.go``), so that a list
    can be doubled thirty times and asked for its size. Upstream's is of a type of its own, which compares differently.
    """

    __slots__ = ("_left", "_right", "_size")

    def __init__(self, left: Sequence[Any], right: Sequence[Any]) -> None:
        self._left, self._right = left, right
        self._size = len(left) + len(right)
        if self._size > INT_MAX:
            raise CelRuntimeError("integer overflow")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        pending: list[Sequence[Any]] = [self]
        while pending:
            part = pending.pop()
            if type(part) is Concatenated:
                pending += (part._right, part._left)
            else:
                yield from part

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            places = range(*index.indices(self._size))
            budget.spend(budget.VISIT * len(places))
            return [self[place] for place in places]
        part: Sequence[Any] = self
        index = index if index >= 0 else index + self._size
        while type(part) is Concatenated:
            here = len(part._left)
            part, index = (part._left, index) if index < here else (part._right, index - here)
        return part[index]


class Named(dict[str, Any]):
    """A map that only strings can be keys of, where a key of another type is just not found."""

    __slots__ = ()


class Domains(Named):
    """``device.attributes`` and ``device.capacity``: asking for an unknown domain gives an empty map.

    ``in`` and iteration tell only the domains that exist, as upstream's wrapped map does
    (``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go``).
    """

    __slots__ = ()

    def __missing__(self, domain: str) -> Named:
        return EMPTY


class Struct(Named):
    """What ``Name{field: value}`` makes: an object of a type that the expression names."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Level(Protocol):
    """How the parts of a ``Lazy`` map come about."""

    def read(self, raw: Mapping[str, Any], key: str) -> Any:
        """Make the value of a key. Raises ``KeyError`` if there is none, ``CelRuntimeError`` if it cannot be made."""

    def keys(self, raw: Mapping[str, Any]) -> Iterable[str]:
        """List the keys."""

    def equal(self, left: Lazy, right: Any) -> bool:
        """Evaluate ``left == right``, where ``left`` is of this level."""


class Lazy(Named):
    """A map whose values are made when they are first asked for."""

    __slots__ = ("level", "raw")

    def __init__(self, level: Level, raw: Mapping[str, Any]) -> None:
        super().__init__()
        self.level, self.raw = level, raw

    def __missing__(self, key: str) -> Any:
        value = self[key] = self.level.read(self.raw, key)
        return value

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self.level.keys(self.raw))

    def values(self) -> Iterable[Any]:  # type: ignore[override]  # nothing here needs a view
        """Make all values."""
        return [self[key] for key in self]

    def items(self) -> Iterable[tuple[str, Any]]:  # type: ignore[override]
        """Make all values, and pair them with their keys."""
        return [(key, self[key]) for key in self]


class Fragile(list[Any]):
    """A list of which not all elements can be made: it fails only where one of those is asked for."""

    __slots__ = ("_convert",)

    def __init__(self, raw: Iterable[Any], convert: Callable[[Any], Any]) -> None:
        super().__init__(raw)
        self._convert = convert

    def __iter__(self) -> Iterator[Any]:
        return map(self._convert, super().__iter__())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        found = super().__getitem__(index)
        return Fragile(found, self._convert) if isinstance(index, slice) else self._convert(found)


class Associative(list[Any]):
    """A list in which each element occurs once: by the values of some ``keys``, or, in a set, as a whole."""

    __slots__ = ("keys",)

    def __init__(self, elements: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys


EMPTY: Final = Named()
LISTS: Final = (list, Concatenated, Associative, Fragile)
MAPS: Final = (dict, Named, Domains, Struct, Lazy)
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
    list: "*types.baseList",
    Concatenated: "*types.concatList",
    Associative: "*common.unstructuredSetList",
    Fragile: "*common.unstructuredList",
    dict: "*types.baseMap",
    Lazy: "*common.unstructuredMap",
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
    Concatenated: "list",
    Associative: "list",
    Fragile: "list",
    dict: "map",
    Named: "map",
    Domains: "map",
    Lazy: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
}
# Comparing one of these with another type is an error; everywhere else in CEL it is just false.
STRICT: Final[set[type]] = {Quantity, Semver}
# How Go hashes a value that is used as a key of a map, if not by what it is.
Hashing = Literal["value", "address", "never"]
HASHING: Final[dict[type, Hashing]] = {
    bytes: "never",
    Semver: "never",
    **dict.fromkeys((*LISTS, *MAPS, Optional, Quantity), "address"),
}


def register(cls: type, name: str, *, strict: bool = False, hashing: Hashing = "value") -> None:
    """Make a library's value class known under its CEL type name."""
    _NAMES[cls] = name
    _GO_TYPES[cls] = f"cel.{name.rpartition('.')[2].removeprefix('Named')}"
    HASHING[cls] = hashing
    if strict:
        STRICT.add(cls)


def type_name(value: Any) -> str:
    """Return the name of the value's type, as ``type(x)`` and error messages have it."""
    return value.name if type(value) is Struct else _NAMES[type(value)]


def go_type(value: Any) -> str:
    """Return the Go type that holds such a value upstream; some of its messages show it."""
    return _GO_TYPES.get(type(value), type_name(value))


def same_kind(left: float, right: float) -> tuple[float, float]:
    """Make two numbers comparable as upstream does: next to a double, an int stands for its nearest double."""
    return (float(left), float(right)) if float in (type(left), type(right)) else (left, right)


def no_such_overload(function: str = "", *arguments: Any) -> CelRuntimeError:
    """Make the error for arguments that no overload of a function takes."""
    if not function or not arguments:
        return CelRuntimeError(f"no such overload: {function}" if function else "no such overload")
    return CelRuntimeError(f"no such overload: {function}({', '.join(map(type_name, arguments))})")
