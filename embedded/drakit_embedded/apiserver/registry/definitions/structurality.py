"""Whether a schema is structural: its skeleton of types says everywhere what a field is.

What stands below ``allOf``, ``anyOf``, ``oneOf`` and ``not`` may restrict values, and say nothing of their types.
Sources: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/{validation,complete,convert}.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from drakit_api.golang import regexps
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, FieldError, forbidden, invalid, required

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_PRESERVES, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_EITHER = "x-kubernetes-int-or-string"
_METADATA_NAMES = frozenset({"name", "generateName"})
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
# What may not be below a combination of schemas, and what it must be instead.
_NOT_NESTED: Final = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVES: "false",
    _EMBEDDED: "false",
    _EITHER: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
_UNTYPED: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


class _Level(NamedTuple):
    schema: Object
    path: str
    place: str  # "root", "item" or "field"


def conversion_problem(schema: Object) -> str | None:
    """Say why a schema cannot be read as a structural one, in the words of ``NewStructural``; None if it can."""
    for field in () if schema.keys().isdisjoint(_UNSUPPORTED) else _UNSUPPORTED:
        if schema.get(field) or (field == "additionalItems" and field in schema):
            return f"OpenAPIV3Schema '{field.removeprefix('$') if field == '$schema' else field}' is not supported"
    if schema.get(_PRESERVES) is False:
        return f"internal error: '{_PRESERVES}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((problem for part in _parts(schema) if (problem := conversion_problem(part)) is not None), None)


def _parts(schema: Object) -> Iterator[Object]:
    """Yield the schemas right below one that has none of what is unsupported."""
    if schema.get("not") is not None:
        yield schema["not"]
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    if schema.get("items") is not None:
        yield schema["items"]
    yield from (schema.get("properties") or {}).values()
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def structural_faults(schema: Object, path: str) -> list[FieldError]:
    """List what keeps a schema from being structural (``ValidateStructural``), sorted by its text."""
    found = [*_invariants(_Level(schema, path, "root")), *_completeness(schema, schema, path, path)]
    return sorted(found, key=str)


def _invariants(level: _Level) -> Errors:
    schema, path = level.schema, level.path
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if schema.get("items") is not None:
        yield from _invariants(_Level(schema["items"], f"{path}.items", "item"))
    for name, field in (schema.get("properties") or {}).items():
        yield from _invariants(_Level(field, f"{path}.properties[{name}]", "field"))
    yield from _additional_faults(level)
    for field in (_PRESERVES, _EMBEDDED) if schema.get(_EITHER) else ():
        if schema.get(field):
            yield invalid(f"{path}.{field}", True, f"must be false if {_EITHER} is true")
    yield from _combinations(schema, path, skip_any=schema.get("anyOf") == _INT_OR_STRING, skip_first=True)
    yield from _type_faults(level)
    yield from _resource_faults(level)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVES) and not schema.get("properties"):
        detail = f"must not be empty if {_EMBEDDED} is true without {_PRESERVES}"
        yield required(f"{path}.properties", detail)


def _additional_faults(level: _Level) -> Errors:
    schema, path, place = level
    additional = schema.get("additionalProperties")
    if additional is None:
        return
    if place == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _invariants(_Level(additional, f"{path}.additionalProperties", "field"))
    if schema.get(_EMBEDDED):
        yield forbidden(f"{path}.additionalProperties", f"must not be used if {_EMBEDDED} is set")


def _type_faults(level: _Level) -> Errors:
    schema, path, place = level
    found, at = schema.get("type") or "", f"{path}.type"
    if schema.get(_EMBEDDED) and found != "object":
        detail = f"must be object if {_EMBEDDED} is true"
        yield invalid(at, found, detail) if found else required(at, detail)
    elif not found and not schema.get(_EITHER) and not schema.get(_PRESERVES):
        yield required(at, _UNTYPED[place])
    if place == "root" and found and found != "object":
        yield invalid(at, found, "must be object at the root")


def _resource_faults(level: _Level) -> Errors:
    """Check what a schema says of the type and the metadata of a resource, or of a field of that name."""
    schema, path, place = level
    fields = schema.get("properties") or {}
    is_resource = place == "root" or schema.get(_EMBEDDED)
    for name in ("kind", "apiVersion") if is_resource else ():
        if name in fields and fields[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", fields[name].get("type") or "", "must be string")
    if "metadata" not in fields:
        return
    meta, at = fields["metadata"], f"{path}.properties[metadata]"
    if is_resource and meta.get("type") != "object":
        yield invalid(f"{at}.type", meta.get("type") or "", "must be object")
    if place == "root" and not _restricts_names_only(meta):
        said = "must not specify anything other than name and generateName"
        yield forbidden(at, f"{said}, but metadata is implicitly specified")


def _restricts_names_only(meta: Object) -> bool:
    fields = (meta.get("properties") or {}).keys()
    return meta.keys() <= {"type", "default", "properties"} and fields <= _METADATA_NAMES


def _combinations(schema: Object, path: str, *, skip_any: bool = False, skip_first: bool = False) -> Errors:
    """Check the combinations of a level, except those that say that a value is a number or a text."""
    for place, each in enumerate(() if skip_any else schema.get("anyOf") or ()):
        yield from _nested(each, f"{path}.anyOf[{place}]")
    for place, each in enumerate(schema.get("allOf") or ()):
        either = skip_first and place == 0 and each.get("anyOf") == _INT_OR_STRING
        yield from _nested(each, f"{path}.allOf[{place}]", skip_any=either)
    for place, each in enumerate(schema.get("oneOf") or ()):
        yield from _nested(each, f"{path}.oneOf[{place}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            regexps.compile_pattern(pattern)
        except regexps.RegexpError as error:
            yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _nested(schema: Object, path: str, *, skip_any: bool = False) -> Errors:
    """Check a schema below a combination, in which a pattern of numbers or texts is not known any more."""
    yield from _combinations(schema, path, skip_any=skip_any)
    if schema.get("items") is not None:
        yield from _nested(schema["items"], f"{path}.items")
    for name, field in (schema.get("properties") or {}).items():
        yield from _nested(field, f"{path}.properties[{name}]")
    for field, wanted in _NOT_NESTED.items():
        value = schema.get(field)
        if value is not None and (field == "default" or (value is not False and value not in ("", []))):
            yield forbidden(f"{path}.{field}", f"must be {wanted} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(combined: Object, skeleton: Object, path: str, at: str) -> Errors:
    """Check that all that combinations at the root are about is in the skeleton, which stands at ``path``."""
    if combined.get("not") is not None:
        yield from _nested_completeness(combined["not"], skeleton, path, f"{at}.not")
    for keyword in ("allOf", "anyOf", "oneOf"):
        for place, each in enumerate(combined.get(keyword) or ()):
            yield from _nested_completeness(each, skeleton, path, f"{at}.{keyword}[{place}]")


def _nested_completeness(nested: Object, skeleton: Object | None, path: str, at: str) -> Errors:
    if skeleton is None:
        yield required(path, f"because it is defined in {at}")
        return
    yield from _completeness(nested, skeleton, path, at)
    if nested.get("items") is not None:
        yield from _nested_completeness(nested["items"], skeleton.get("items"), f"{path}.items", f"{at}.items")
    fields = skeleton.get("properties") or {}
    for name, field in (nested.get("properties") or {}).items():
        yield from _nested_completeness(
            field, fields.get(name), f"{path}.properties[{name}]", f"{at}.properties[{name}]"
        )
