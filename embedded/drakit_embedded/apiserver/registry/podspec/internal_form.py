"""Values of the core group as kube-apiserver's internal types print them, which its messages about pods do.

Those types have no JSON tags, so that every field stands there under its Go name, unset ones as null; only the types of
``metav1`` keep their tags. Fields and their order are those of v1 (k8s.io/kubernetes/pkg/apis/core/types.go).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from drakit_api.objects.schema import Type
from drakit_embedded.apiserver.scheme.structures import others

Printer = Callable[[Any], Any]
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0", "intorstring": 0}


def internal(kind: str, value: Any) -> Any:
    """Convert a value of a type such as ``PodSpec`` to its internal form, ready to be written as JSON."""
    return _struct(f"core/v1.{kind}")(value)


@functools.cache
def _struct(struct: str) -> Printer:
    tagged = struct.startswith("meta/")
    fields = [(field, _printer(field.type)) for field in others().flat_fields(struct)]

    def printed(value: dict[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for field, show in fields:
            item = value.get(field.name)
            if tagged and field.omit and not item:
                continue
            if field.go == "ObjectMeta":
                # An embedded struct: JSON has its fields in its place.
                shown |= show(item)
            else:
                shown[field.name if tagged else field.go] = show(item)
        return shown

    return printed


def _printer(kind: Type) -> Printer:
    zero = None if kind.pointer else _ZEROS.get(kind.shape)
    if kind.shape == "struct":
        # Called late, so that a type is read only when it is needed.
        return lambda value: None if value is None and kind.pointer else _struct(kind.struct)(value or {})
    if kind.item is None:
        return lambda value: zero if value is None else value
    show = _printer(kind.item)
    if kind.shape == "list":
        return lambda value: [show(item) for item in value] if value else None
    return lambda value: {key: show(value[key]) for key in sorted(value)} if value else None
