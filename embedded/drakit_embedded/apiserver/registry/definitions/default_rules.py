"""Defaults in a schema must be values of it, without unknown fields.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/defaulting/validation.go``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import as_marshaled
from drakit_api.rules.validator import Validator as Rules
from drakit_api.structural.embedded import CoercionError, Embedded
from drakit_api.structural.pruning import prune
from drakit_api.structural.same_values import same
from drakit_api.structural.schema import UNSET, Structural
from drakit_api.structural.values import Validator
from drakit_api.validation.errors import Errors, FieldError, invalid

_OF_A_RESOURCE = ("metadata", "apiVersion", "kind")
_TYPE = {"kind": "Validation", "apiVersion": "validation/v1"}
# Build the object around a value.
_Around = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Level:
    schema: Structural
    path: str
    # The resource that the level belongs to, and how to build one that has a value here.
    resource: Structural
    around: _Around
    in_metadata: bool = False


def default_faults(schema: Structural, path: str) -> list[FieldError]:
    """List what is wrong with the defaults of a structural schema that stands at ``path``."""
    root = replace(schema, is_embedded=True)
    return [*_below(_Level(root, path, root, _itself))]


def _itself(value: Any) -> Any:
    return value


def _below(level: _Level) -> Errors:
    schema = level.schema
    if schema.is_embedded:
        level = replace(level, resource=schema, around=_itself, in_metadata=False)
    if schema.default is not UNSET and schema.default is not None:
        yield from _metadata_faults(level) if level.in_metadata else _faults(level)
    # No default is below additionalProperties, where it would be forbidden.
    around = level.around
    if schema.items is not None:
        yield from _below(
            replace(level, schema=schema.items, path=f"{level.path}.items", around=lambda value: around([value]))
        )
    for name, field in schema.properties.items():
        yield from _below(_field(level, name, field))


def _field(level: _Level, name: str, schema: Structural) -> _Level:
    around = level.around
    return replace(
        level,
        schema=schema,
        path=f"{level.path}.properties[{name}]",
        around=lambda value: around({name: value}),
        in_metadata=level.in_metadata or (level.schema.is_embedded and name in _OF_A_RESOURCE),
    )


def _faults(level: _Level) -> Errors:
    schema, path = level.schema, f"{level.path}.default"
    value = copy.deepcopy(schema.default)
    prune(value, schema, is_root=schema.is_embedded)
    if not same(value, schema.default):
        yield invalid(path, as_marshaled(schema.default), "must not have unknown fields")
    # As upstream, the check brings the default itself into order, as it is stored then.
    value = schema.default
    embedded = Embedded(schema, is_root=schema.is_embedded)
    try:
        embedded.coerce(value, path)
    except CoercionError as error:
        yield error.error
        return
    yield from embedded.faults(value, path) or _value_faults(schema, value, path)


def _metadata_faults(level: _Level) -> Errors:
    """Check a default in type or metadata of a resource, by a resource that has nothing else."""
    schema, path = level.schema, f"{level.path}.default"
    resource = {**_TYPE, **level.around(copy.deepcopy(schema.default))}
    embedded = Embedded(level.resource, is_root=True)
    try:
        embedded.coerce(resource)
    except CoercionError as error:
        problem = str(error)
    else:
        problem = aggregated(map(str, embedded.faults(resource)))
    if problem:
        yield invalid(path, as_marshaled(schema.default), f"must result in valid metadata: {problem}")
    else:
        yield from _value_faults(schema, schema.default, path)


def _value_faults(schema: Structural, value: Any, path: str) -> list[FieldError]:
    if faults := Validator(schema, any_format=True).faults(value, path):
        return faults
    # A default must keep the rules when nothing changes, and when it is new.
    rules = Rules(schema, is_resource=schema.is_embedded)
    return rules.faults(value, value, path, ratchets=False) or rules.faults(value, None, path)
