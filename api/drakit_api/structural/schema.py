"""The schema of a custom resource, read once: a level for each object, list and map that it describes.

A definition writes its schema as OpenAPI (``JSONSchemaProps``). Kubernetes accepts only those whose skeleton of types
says everywhere what a field is, and reads them as ``Structural`` (``k8s.io/apiextensions-apiserver`` v0.37
``pkg/apiserver/schema/structural.go``). Pruning, defaults, list types and CEL types follow the levels; bounds, formats
and combinations of schemas stay in ``source``, as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    items, additional = source.get("items"), source.get("additionalProperties")
    return Structural(
        source=source,
        type=source.get("type") or "",
        nullable=bool(source.get("nullable")),
        default=source.get("default", UNSET),
        properties={name: structural(each) for name, each in (source.get("properties") or {}).items()},
        items=structural(items) if isinstance(items, Mapping) else None,
        additional=structural(additional) if isinstance(additional, Mapping) else additional,
        preserves_unknown=bool(source.get("x-kubernetes-preserve-unknown-fields")),
        is_embedded=bool(source.get("x-kubernetes-embedded-resource")),
        int_or_string=bool(source.get("x-kubernetes-int-or-string")),
        list_type=source.get("x-kubernetes-list-type") or "",
        list_map_keys=tuple(source.get("x-kubernetes-list-map-keys") or ()),
        map_type=source.get("x-kubernetes-map-type") or "",
        rules=tuple(_rule(each) for each in source.get("x-kubernetes-validations") or ()),
    )


def _rule(source: Mapping[str, Any]) -> Rule:
    return Rule(
        rule=source.get("rule") or "",
        message=source.get("message") or "",
        message_expression=source.get("messageExpression") or "",
        reason=source.get("reason") or "",
        field_path=source.get("fieldPath") or "",
        optional_old_self=source.get("optionalOldSelf"),
    )
