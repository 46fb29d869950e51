"""When two values of objects mean the same, as ``apiequality.Semantic`` of apimachinery has it.

It decides what counts as a change: of an immutable field, of the spec (``metadata.generation``), of what must be
validated again. What is absent has the zero value of its Go type, so 0, false and "" are nothing, and so are empty
lists and maps; but a nil pointer is not a pointer to any of them. Quantities are compared by amount: ``1Ki`` is
``1024``. Embedded objects are texts. Source: ``k8s.io/apimachinery`` v0.37.1 ``pkg/api/equality/semantic.go`` and
``third_party/forked/golang/reflect/deep_equal.go``.

Each struct of a ``Schema`` becomes a closure when it is first met, as in ``decoding``. What is equal to Python is found
to be so by C code, without looking at types; except where an embedded object may be, in which Python takes 1 for true.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects import schema
from drakit_api.objects.raw_extensions import same_text
from drakit_api.objects.schema import Schema, Type
from drakit_api.quantity import Quantity

Comparison = Callable[[Any, Any], bool]


def same_field(struct: str, field: str, left: ReadOnlyObject, right: ReadOnlyObject) -> bool:
    """Tell whether a field is the same in two decoded objects of a struct of resource.k8s.io ("resource/v1.Device").

    Raises ``KeyError`` for a struct or field that does not exist, unless both objects hold the same value or none.
    """
    ours, theirs = left.get(field), right.get(field)
    return ours is theirs or _field(struct, field)(ours, theirs)


@functools.cache
def comparison(types: Schema, struct: str) -> Comparison:
    """Make a function that compares two decoded objects of a struct; unknown fields are compared as Python does."""
    fields: dict[str, Comparison] = {}
    # Fields whose equality for Go is not that of Python's ``==``.
    with_texts = [field.name for field in types.flat_fields(struct) if _holds_texts(types, field.type)]

    def same(left: ReadOnlyObject, right: ReadOnlyObject) -> bool:
        if left is right:
            return True
        equal = left == right
        if equal and not with_texts:
            return True
        if not fields:
            fields.update({field.name: _comparison(types, field.type) for field in types.flat_fields(struct)})
        for name in with_texts if equal else fields:
            ours, theirs = left.get(name), right.get(name)
            if ours is not theirs and not fields[name](ours, theirs):
                return False
        return equal or all(left.get(name) == right.get(name) for name in (left.keys() | right.keys()) - fields.keys())

    return same


@functools.cache
def _field(struct: str, name: str) -> Comparison:
    types = schema.load()
    return {field.name: _comparison(types, field.type) for field in types.flat_fields(struct)}[name]


def _comparison(types: Schema, kind: Type) -> Comparison:
    """Make a function that compares two values of a type; None counts as the type's zero value."""
    match kind.shape:
        case "struct":
            same = comparison(types, kind.struct)
            return _pointers(same) if kind.pointer else lambda left, right: same(left or {}, right or {})
        case "list" | "map":
            return _containers(types, kind)
        case "raw":
            # Nil bytes are not the bytes of an empty object.
            return _pointers(same_text)
        case "quantity":
            return _pointers(_same_amount) if kind.pointer else _same_amount
        case "intorstring":
            return _pointers(_equal) if kind.pointer else _same_int_or_string
        case _:
            return _pointers(_equal) if kind.pointer else _same_scalar


def _containers(types: Schema, kind: Type) -> Comparison:
    assert kind.item is not None
    same_item, plain = _comparison(types, kind.item), not _holds_texts(types, kind.item)

    def same_lists(left: list[Any] | None, right: list[Any] | None) -> bool:
        if not left or not right:
            return not left and not right
        return (plain and left == right) or (len(left) == len(right) and all(map(same_item, left, right)))

    def same_maps(left: dict[str, Any] | None, right: dict[str, Any] | None) -> bool:
        if not left or not right:
            return not left and not right
        return (plain and left == right) or (
            left.keys() == right.keys() and all(same_item(value, right[key]) for key, value in left.items())
        )

    return same_lists if kind.shape == "list" else same_maps


def _pointers(same: Comparison) -> Comparison:
    """Make a comparison of pointers: nil equals nothing but nil."""
    return lambda left, right: left is right if left is None or right is None else same(left, right)


def _equal(left: Any, right: Any) -> bool:
    return bool(left == right)


def _same_scalar(left: Any, right: Any) -> bool:
    """Compare two values of one type, whose zero value is the only one that is false in Python."""
    return left == right or not (left or right)


def _same_int_or_string(left: int | str | None, right: int | str | None) -> bool:
    return (0 if left is None else left) == (0 if right is None else right)


def _same_amount(left: str | None, right: str | None) -> bool:
    return left == right or Quantity.parse(left or "0") == Quantity.parse(right or "0")


def _holds_texts(types: Schema, kind: Type) -> bool:
    """Tell whether there may be an embedded object in a value."""
    if kind.shape == "struct":
        return any(_holds_texts(types, field.type) for field in types.flat_fields(kind.struct))
    return kind.shape == "raw" or (kind.item is not None and _holds_texts(types, kind.item))
