"""The schema of a custom resource, read once: a level for each object, list and map that it describes.

A definition writes its schema as OpenAPI (``JSONSchemaProps``). Kubernetes accepts only those whose skeleton of types
says everywhere what a field is, and reads them as ``Structural`` (``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apiserver/schema/structural.go``). Pruning, defaults, list types and CEL types follow the levels; bounds, formats
and combinations of schemas stay in ``source``, as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# The default of a level that has none; null is a value.
UNSET: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of ``x-kubernetes-validations``; ``optional_old_self`` is None where it is not said."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Structural:
    """One level of a schema. ``source`` is the ``JSONSchemaProps`` that it was read from, and must not be changed."""

    source: Mapping[str, Any]
    type: str = ""
    nullable: bool = False
    default: Any = UNSET
    properties: Mapping[str, Structural] = field(default_factory=dict)
    items: Structural | None = None
    # ``additionalProperties``: the schema of all values of a map, or whether there may be any.
    additional: Structural | bool | None = None
    # ``x-kubernetes-preserve-unknown-fields``, ``-embedded-resource`` and ``-int-or-string``.
    preserves_unknown: bool = False
    is_embedded: bool = False
    int_or_string: bool = False
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Rule, ...] = ()


def structural(source: Mapping[str, Any]) -> Structural:
    """Read a schema in the JSON form of ``JSONSchemaProps``, whether it is structural or not."""
    found: dict[str, Any] = {}
    for keyword, value in source.items():
        # Most levels say two or three of these things.
        if keyword in _READ and (value is not None or keyword == "default"):
            name, read = _READ[keyword]
            found[name] = read(value)
    return Structural(source, **found)


def _properties(value: Mapping[str, Any]) -> Mapping[str, Structural]:
    return {name: structural(each) for name, each in value.items()}


def _one(value: Any) -> Structural | None:
    return structural(value) if isinstance(value, Mapping) else None


def _one_or_whether(value: Any) -> Structural | bool | None:
    return structural(value) if isinstance(value, Mapping) else value


def _rule(source: Mapping[str, Any]) -> Rule:
    return Rule(
        rule=source.get("rule") or "",
        message=source.get("message") or "",
        message_expression=source.get("messageExpression") or "",
        reason=source.get("reason") or "",
        field_path=source.get("fieldPath") or "",
        optional_old_self=source.get("optionalOldSelf"),
    )


def _rules(value: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    return tuple(map(_rule, value))


def _as_it_is(value: Any) -> Any:
    return value


# The field of each keyword, and what reads it.
_READ: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "type": ("type", _as_it_is),
    "nullable": ("nullable", bool),
    "default": ("default", _as_it_is),
    "properties": ("properties", _properties),
    "items": ("items", _one),
    "additionalProperties": ("additional", _one_or_whether),
    "x-kubernetes-preserve-unknown-fields": ("preserves_unknown", bool),
    "x-kubernetes-embedded-resource": ("is_embedded", bool),
    "x-kubernetes-int-or-string": ("int_or_string", bool),
    "x-kubernetes-list-type": ("list_type", _as_it_is),
    "x-kubernetes-list-map-keys": ("list_map_keys", tuple),
    "x-kubernetes-map-type": ("map_type", _as_it_is),
    "x-kubernetes-validations": ("rules", _rules),
}
