"""Go types as msgspec Structs: what is in order is gone through and written by C code, in a third of the time.

A slice of 52 devices has a thousand small objects. These types hold what a server reads without a remark, or writes as
it is: nothing unknown, no null, every type right. They say nothing about the rest: ``decoding`` and ``encoding`` then
go through it by their own rules, and find the words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from drakit_api import quantity
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Field, Schema, Type

Checker = Callable[[Object], bool]
Writer = Callable[[Object], bytes | None]

_BULKY = "ResourceSliceSpec"
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0}
_EMPTY: dict[str, Callable[[], Any]] = {"list": list, "map": dict}
_encode = msgspec.json.Encoder(order="deterministic").encode
_INT32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Quantity(str):
    """A canonical quantity."""

    __slots__ = ()


class _Time(str):
    """A canonical ``metav1.Time``."""

    __slots__ = ()


def is_bulky(struct: str) -> bool:
    """Tell whether objects of a struct are so large that it is worth to make Structs of it."""
    return struct.endswith(_BULKY)


@functools.cache
def checker(types: Schema, struct: str) -> Checker:
    """Make a function that tells whether ``decoding`` would leave an object as it is: types right, all canonical."""
    shape = _Shapes(types, stored=False).of(struct)

    def is_in_order(obj: Object) -> bool:
        try:
            msgspec.convert(obj, shape, dec_hook=_checked)  # type: ignore[arg-type]  # a cache is callable
        except (msgspec.ValidationError, RecursionError):
            return False
        return True

    return is_in_order


@functools.cache
def writer(types: Schema, struct: str) -> Writer:
    """Make a function that encodes a decoded object as ``encoding`` does; it returns None for what it cannot encode."""
    shape = _Shapes(types, stored=True).of(struct)

    def write(obj: Object) -> bytes | None:
        try:
            return _encode(msgspec.convert(obj, shape))
        except (msgspec.ValidationError, RecursionError):
            return None

    return write


@functools.lru_cache(maxsize=8192)
def _checked(shape: type[str], value: object) -> str:
    """Check a text, and remember it: the devices of a pool have the same few sizes. msgspec wraps its errors."""
    if not isinstance(value, str):
        raise TypeError
    if value != (quantity.canonical(value) if shape is _Quantity else gotime.canonical(value)):
        raise ValueError
    return shape(value)


class _Shapes:
    """The Structs of one schema; if ``stored``, those that leave out what is empty."""

    def __init__(self, types: Schema, *, stored: bool) -> None:
        self._types, self._stored = types, stored
        self._made: dict[str, type[msgspec.Struct]] = {}

    def of(self, struct: str) -> type[msgspec.Struct]:
        found = self._made.get(struct)
        if found is None:
            fields = [self._field(field) for field in self._types.flat_fields(struct)]
            # Without gc: they live for a moment, and a collection in that moment would go through all of them.
            found = msgspec.defstruct(
                struct, fields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
            )
            self._made[struct] = found
        return found

    def _field(self, field: Field) -> tuple[str, Any, Any]:
        kind, held = field.type, self._type(field.type)
        if self._stored and not field.omit:
            # Spelled out in any case: how, where it is absent or an empty list, is left to ``encoding``.
            filled = held if kind.item is None else Annotated[held, msgspec.Meta(min_length=1)]
            return field.go, filled, msgspec.field(name=field.name)
        if self._stored and not kind.pointer and kind.item is not None:
            return field.go, held, msgspec.field(name=field.name, default_factory=_EMPTY[kind.shape])
        if self._stored and not kind.pointer and kind.shape in _ZEROS:
            return field.go, held, msgspec.field(name=field.name, default=_ZEROS[kind.shape])
        # The checker refuses null, which ``decoding`` has to drop.
        return field.go, held | None if self._stored else held, msgspec.field(name=field.name, default=None)

    def _type(self, kind: Type) -> Any:
        match kind.shape:
            case "struct":
                return self.of(kind.struct)
            case "list" if kind.item is not None:
                return list[self._type(kind.item)]  # type: ignore[misc]
            case "map" if kind.item is not None:
                return dict[str, self._type(kind.item)]  # type: ignore[misc]
            case "int":
                return _INT32 if kind.go == "int32" else _INT64
            case "quantity" | "time":
                return str if self._stored else _Quantity if kind.shape == "quantity" else _Time
            case "string" | "bool":
                return str if kind.shape == "string" else bool
        raise NotImplementedError(f"{kind.shape} in a struct that is read as a whole")
