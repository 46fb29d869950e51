"""Whether an applied configuration is one of its kind: structured-merge-diff checks it, before any Go type sees it.

sigs.k8s.io/structured-merge-diff/v6/typed/validate.go and helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.managedfields import elements, shapes
from drakit_embedded.apiserver.managedfields.shapes import ABSENT, Keyed, Map, Shape, Struct, Values
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

REPEATED = ": duplicate entries for key "
_SCHEMA, _OF_SCHEMA = "openAPIV3Schema", "apiextensions/v1.CustomResourceValidation"
_ANY_SCALAR = ("quantity", "time", "microtime", "intorstring")


def faults(config: Object, kind: Kind, *, may_repeat: bool = False) -> str:
    """Say what is wrong with a configuration, as one text; "" if nothing is. An undeclared field ends its struct.

    ``may_repeat``: items of a list may have the same key, as they may in an object that is there already.
    """
    if kind.definition is not None:
        # Imported here, as most clusters have no custom resources.
        from drakit_embedded.apiserver.managedfields import custom_typechecks

        found = list(custom_typechecks.faults(config, kind.definition.versions[kind.version].schema))
    else:
        types, struct = structures.types_of(kind)
        found = list(of_struct(config, types, struct, shapes.plain(kind, kind.api_version), ""))
    if may_repeat:
        found = [fault for fault in found if REPEATED not in fault]
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found]) if found else ""


def of_struct(value: Object, types: Schema, struct: str, shape: Shape | None, path: str) -> Iterator[str]:
    """Yield what is wrong with an object that a Go struct is to hold."""
    known = {field.name: field.type for field in types.flat_fields(struct)}
    fields = shape.fields if isinstance(shape, Struct) else {}
    for key, item in value.items():
        if key not in known:
            yield f"{path}.{key}: field not declared in schema"
            return
        if key == _SCHEMA and struct == _OF_SCHEMA:
            # Imported here, as definitions are seldom applied.
            from drakit_embedded.apiserver.managedfields import schema_typechecks

            yield from schema_typechecks.faults(item, f"{path}.{key}")
        yield from _value(item, types, known[key], fields[key].shape if key in fields else None, f"{path}.{key}")


def _value(value: Any, types: Schema, kind: Type, shape: Shape | None, path: str) -> Iterator[str]:
    """Check a value against its Go type; ``shape`` is None inside what is owned as a whole."""
    if value is None or kind.shape == "raw":
        return
    if kind.shape == "struct" or kind.shape == "map":
        if not isinstance(value, dict):
            yield said(path, f"expected map, got {wrapped(value)}")
        elif kind.item is None:
            yield from of_struct(value, types, kind.struct, shape, path)
        else:
            below = shape.item if isinstance(shape, Map) else None
            for key, item in value.items():
                yield from _value(item, types, kind.item, below, f"{path}.{key}")
    elif kind.shape == "list":
        if not isinstance(value, list):
            yield said(path, f"expected list, got {wrapped(value)}")
        else:
            yield from _items(value, types, kind, shape, path)
    else:
        wrong = scalar_fault(value, kind.shape)
        if wrong:
            yield said(path, wrong)


def _items(value: list[Any], types: Schema, kind: Type, shape: Shape | None, path: str) -> Iterator[str]:
    assert kind.item is not None
    item_kind, below = kind.item, shape.item if isinstance(shape, Keyed) else None
    told = shape if isinstance(shape, Keyed | Values) else None
    return of_items(value, told, path, lambda item, where: _value(item, types, item_kind, below, where))


def of_items(
    value: list[Any], shape: Keyed | Values | None, path: str, below: Callable[[Any, str], Iterable[str]]
) -> Iterator[str]:
    """Check a list: that its items can be told from each other, if ``shape`` says how, and what is ``below`` each."""
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"[{index}]"
        if shape is not None:
            if wrong := unidentified(item, shape):
                yield said(path, f"element {index}: {wrong}")
                return
            element = shape.element(item)
            step = elements.shown(element)
            if element in seen:
                yield f"{path}{REPEATED}{step}"
            seen.add(element)
        yield from below(item, path + step)


def unidentified(item: Any, shape: Keyed | Values) -> str:
    """Say why an item of a list cannot be identified."""
    if isinstance(shape, Values):
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        if isinstance(item, list):
            return "not supported: associative list with lists as elements"
        return "associative list without keys has an element that's an explicit null" if item is None else ""
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    if all(name not in item and default is ABSENT for name, default in shape.keys):
        keys = " ".join(quote(name) for name, _ in shape.keys)
        return (
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return ""


def scalar_fault(value: Any, shape: str) -> str:
    """Say why a value is no scalar of a shape; empty if it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if shape in _ANY_SCALAR:
        return "" if isinstance(value, str | int | float) else f"expected any scalar, got {wrapped(value)}"
    if shape == "int":
        return "" if number else f"expected numeric (int or float), got {_go_type(value)}"
    if shape == "bool":
        return "" if isinstance(value, bool) else f"expected boolean, got {wrapped(value)}"
    return (
        "" if isinstance(value, str) else f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    )


def said(path: str, what: str) -> str:
    """Say where something is wrong."""
    return f"{path}: {what}" if path else what


def wrapped(value: Any) -> str:
    """Print a value as structured-merge-diff does by ``%v``."""
    return f"&{{{_printed(value)}}}"


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_printed(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_printed, value)) + "]"
    return "<nil>" if value is None else str(value)


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "int64")


def _go_syntax(value: Any) -> str:
    """Print a value as Go does by ``%#v``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{quote(k)}:{_go_syntax(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_go_syntax, value)) + "}"
    return "interface {}(nil)" if value is None else str(value)
