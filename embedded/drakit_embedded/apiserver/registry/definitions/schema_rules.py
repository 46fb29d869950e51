"""What may stand in a schema at each of its levels, structural or not.

Source: ``ValidateCustomResourceDefinitionOpenAPISchema`` of ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from drakit_api.kubernetes_objects import Object
from drakit_api.rules.forms import RULES, form_faults
from drakit_api.structural.schema import structural
from drakit_api.validation.errors import (
    Errors,
    FieldError,
    forbidden,
    invalid,
    not_supported_value,
)
from drakit_embedded.apiserver.registry.definitions.list_rules import list_faults, map_faults
from drakit_embedded.apiserver.registry.definitions.schema_fields import FIELDS
from drakit_embedded.apiserver.registry.definitions.schema_printing import printed

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_OF_A_RESOURCE = frozenset({"metadata", "kind", "apiVersion"})
_EMBEDDED, _PRESERVES = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
# Fields that are known and never accepted; some of them if they are empty, either.
_FORBIDDEN: Final[Mapping[str, bool]] = {
    "id": False,
    "additionalItems": True,
    "patternProperties": False,
    "definitions": False,
    "dependencies": True,
    "$ref": True,
}
# At the root of a schema with a status subresource: what is lost there if the status is validated alone.
_AT_ROOT: Final[Mapping[str, str]] = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    _PRESERVES: "XPreserveUnknownFields",
    RULES: "XValidations",
}


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a schema. ``anchor`` is the path of the structural level that it is, or below whose combinations."""

    schema: Object
    path: str
    anchor: str
    is_root: bool = False
    in_metadata: bool = False
    # Why there may be no default; empty if there may.
    no_default: str = ""

    def below(self, schema: Object, step: str, *, structural: bool = False, **changes: Any) -> _Level:
        path = f"{self.path}.{step}"
        anchor = path if structural and self.anchor == self.path else self.anchor
        return replace(self, schema=schema, path=path, anchor=anchor, is_root=False, **changes)


@dataclass(slots=True)
class SchemaCheck:
    """The faults of a schema, and the paths of the structural levels that they are about."""

    found: list[FieldError] = field(default_factory=list)
    flawed: set[str] = field(default_factory=set)

    def run(self, schema: Object, path: str) -> None:
        """Check a schema that stands at ``path``."""
        self._level(_Level(schema, path, path, is_root=True))

    def _level(self, level: _Level) -> None:
        self._add(level, _own_faults(level))
        for below in _below(level):
            self._level(below)
        schema, path = level.schema, level.path
        if schema.get(_PRESERVES) is False:
            self._add(level, [invalid(f"{path}.{_PRESERVES}", False, "must be true or undefined")])
        self._add(level, map_faults(schema, path))
        self._add(level, list_faults(schema, path))
        if schema.get(RULES):
            self._add(level, form_faults(structural(schema), path))

    def _add(self, level: _Level, faults: Errors) -> None:
        for fault in faults:
            self.found.append(fault)
            self.flawed.add(level.anchor)


def _own_faults(level: _Level) -> Errors:
    schema, path = level.schema, level.path
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        yield not_supported_value(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and level.no_default:
        yield forbidden(f"{path}.default", f"must not be set {level.no_default}")
    for name, even_empty in _FORBIDDEN.items():
        if schema.get(name) or (even_empty and schema.get(name) is not None):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if level.in_metadata and schema.get(_EMBEDDED):
        yield forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    additional = schema.get("additionalProperties")
    if schema.get("properties") and additional is not None and additional is not True:
        yield forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")


def _below(level: _Level) -> Iterator[_Level]:
    schema = level.schema
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        why = "inside additionalProperties applying to object metadata" if level.in_metadata else level.no_default
        yield level.below(additional, "additionalProperties", structural=True, no_default=why)
    for name, each in (schema.get("properties") or {}).items():
        yield _property(level, name, each)
    yield from _combinations(level)
    for name, each in (schema.get("definitions") or {}).items():
        yield level.below(each, f"definitions[{name}]")
    items = schema.get("items")
    if isinstance(items, dict):
        yield level.below(items, "items", structural=True)
    for place, each in enumerate(items if isinstance(items, list) else ()):
        yield level.below(each, f"items[{place}]")
    for name, each in (schema.get("dependencies") or {}).items():
        if isinstance(each, dict):
            yield level.below(each, f"dependencies[{name}]")


def _combinations(level: _Level) -> Iterator[_Level]:
    if level.schema.get("not") is not None:
        yield level.below(level.schema["not"], "not")
    for keyword in ("allOf", "oneOf", "anyOf"):
        for place, each in enumerate(level.schema.get(keyword) or ()):
            yield level.below(each, f"{keyword}[{place}]")


def _property(level: _Level, name: str, schema: Object) -> _Level:
    inside = (level.is_root or bool(level.schema.get(_EMBEDDED))) and name in _OF_A_RESOURCE
    why = f"in top-level {name}" if inside and level.is_root else level.no_default
    step = f"properties[{name}]"
    return level.below(schema, step, structural=True, in_metadata=level.in_metadata or inside, no_default=why)


def root_faults(schema: Object, path: str, *, has_status: bool) -> Errors:
    """Check what may stand at the root only."""
    for name, *_ in FIELDS if has_status else ():
        if name not in schema:
            continue
        if name == "type" and schema["type"] != "object":
            only = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            yield invalid(f"{path}.type", schema["type"], only)
            break
        if name not in _AT_ROOT:
            only = f"only [{' '.join(_AT_ROOT.values())}] fields are allowed at the root of the schema"
            yield invalid(path, printed(schema), f"{only} if the status subresource is enabled")
            break
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
