"""Whether the schema in an applied definition is one, as far as structured-merge-diff checks it.

The types are those of ``JSONSchemaProps`` in ``k8s.io/kubernetes`` ``pkg/generated/openapi``. What decodes itself has
no type there, and may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from drakit_embedded.apiserver.managedfields import elements
from drakit_embedded.apiserver.managedfields.shapes import LEAF_SHAPE, Keyed
from drakit_embedded.apiserver.managedfields.typechecks import REPEATED, said, scalar_fault, unidentified, wrapped
from drakit_embedded.apiserver.registry.definitions.schema_fields import (
    DOCUMENTATION_FIELDS,
    FIELDS,
    RULE_FIELDS,
    Field,
)

_Fields = Mapping[str, Field]
_Check = Callable[[Any, str], Iterator[str]]
_BY_RULE = Keyed((("rule", ""),), LEAF_SHAPE)


def _by_name(fields: Iterable[Field]) -> _Fields:
    return {field.name: field for field in fields}


_SCHEMA, _RULE, _DOCUMENTATION = map(_by_name, (FIELDS, RULE_FIELDS, DOCUMENTATION_FIELDS))


def faults(value: Any, path: str) -> Iterator[str]:
    """Yield what is wrong with a schema."""
    yield from _struct(value, _SCHEMA, path)


def _struct(value: Any, fields: _Fields, path: str) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield said(path, f"expected map, got {wrapped(value)}")
        return
    for key, item in value.items():
        if key not in fields:
            yield f"{path}.{key}: field not declared in schema"
            return
        check = _CHECKS.get(fields[key].shape)
        if check is not None:
            yield from check(item, f"{path}.{key}")


def _scalar(shape: str) -> _Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if value is not None and (wrong := scalar_fault(value, shape)):
            yield said(path, wrong)

    return check


def _list(check_item: _Check, keys: Keyed | None = None) -> _Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if value is not None and not isinstance(value, list):
            yield said(path, f"expected list, got {wrapped(value)}")
            return
        seen: set[str] = set()
        for index, item in enumerate(value or ()):
            step = f"[{index}]"
            if keys is not None:
                if wrong := unidentified(item, keys):
                    yield said(path, f"element {index}: {wrong}")
                    return
                element = keys.element(item)
                step = elements.shown(element)
                if element in seen:
                    yield f"{path}{REPEATED}{step}"
                seen.add(element)
            yield from check_item(item, path + step)

    return check


def _map(check_item: _Check) -> _Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if value is not None and not isinstance(value, dict):
            yield said(path, f"expected map, got {wrapped(value)}")
            return
        for key, item in (value or {}).items():
            yield from check_item(item, f"{path}.{key}")

    return check


def _anything(value: Any, path: str) -> Iterator[str]:
    yield from ()


_CHECKS: Mapping[str, _Check] = {
    "string": _scalar("string"),
    "bool": _scalar("bool"),
    "int64": _scalar("int"),
    "float64": _scalar("int"),
    "strings": _list(_scalar("string")),
    "jsons": _list(_anything),
    "rules": _list(lambda value, path: _struct(value, _RULE, path), _BY_RULE),
    "documentation": lambda value, path: _struct(value, _DOCUMENTATION, path),
    "schema": faults,
    "schemas": _list(faults),
    "named": _map(faults),
    "named schemas or strings": _map(_anything),
}
