"""The form in which kube-apiserver checks a definition: what all versions have in common stands in one place.

Rules and messages follow from it: the schema of a definition with one version is at ``spec.validation``. Source:
``Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec`` of
``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/v1/conversion.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.structural.same_values import same
from drakit_embedded.apiserver.registry.definitions.schema_printing import printed

_MOVED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")
_SCHEMA = "openAPIV3Schema"


@dataclass(frozen=True, slots=True)
class InternalSpec:
    """The spec of a definition; ``common`` has what was in all versions, ``versions`` are without it."""

    spec: Object
    common: Object
    versions: Sequence[Object]

    @property
    def schemas(self) -> list[Object]:
        """All schemas of the definition."""
        return [schema for each in (self.common, *self.versions) if (schema := schema_of(each)) is not None]

    def schema_of_version(self, name: str) -> Object | None:
        """Return the schema of a version; None if it has none, or does not exist."""
        common = schema_of(self.common)
        if common is not None:
            return common
        return next((schema_of(each) for each in self.versions if each["name"] == name), None)

    def subresources_of(self, name: str) -> Object:
        """Return the subresources of a version."""
        if "subresources" in self.common:
            return self.common["subresources"] or {}
        return next((each.get("subresources") or {} for each in self.versions if each["name"] == name), {})


def internal(spec: Object) -> InternalSpec:
    """Bring the spec of a definition into the form in which it is checked."""
    versions: list[Object] = spec.get("versions") or []
    common: Object = {}
    for field in _MOVED if versions else ():
        first = versions[0].get(field)
        if all(_same(each.get(field), first) for each in versions):
            common[field] = first
    common = {field: value for field, value in common.items() if value is not None}
    return InternalSpec(
        spec, common, [{key: value for key, value in each.items() if key not in common} for each in versions]
    )


def schema_of(holder: Object) -> Object | None:
    """Return the schema that stands in a version, or in what versions have in common."""
    schema: Object | None = (holder.get("schema") or {}).get(_SCHEMA)
    return schema


def _same(left: Any, right: Any) -> bool:
    # Empty lists are none; an empty schema is one.
    return same(left, right) or (left in (None, []) and right in (None, []))


def printed_versions(spec: InternalSpec) -> list[Object] | None:
    """Print the versions as the internal type does, for messages."""
    return [_printed_version(each) for each in spec.versions] if spec.spec.get("versions") is not None else None


def _printed_version(version: Object) -> Object:
    columns, selectable = version.get("additionalPrinterColumns"), version.get("selectableFields")
    return {
        "Name": version.get("name") or "",
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": _printed_schema(version.get("schema")),
        "Subresources": _printed_subresources(version.get("subresources")),
        "AdditionalPrinterColumns": [_printed_column(each) for each in columns] if columns else None,
        "SelectableFields": [{"JSONPath": each.get("jsonPath") or ""} for each in selectable] if selectable else None,
    }


def _printed_schema(validation: Object | None) -> Object | None:
    if validation is None:
        return None
    schema = validation.get(_SCHEMA)
    return {"OpenAPIV3Schema": None if schema is None else printed(schema)}


def _printed_subresources(subresources: Object | None) -> Object | None:
    if subresources is None:
        return None
    scale = subresources.get("scale")
    shown = None
    if scale is not None:
        shown = {
            "SpecReplicasPath": scale.get("specReplicasPath") or "",
            "StatusReplicasPath": scale.get("statusReplicasPath") or "",
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        }
    return {"Status": None if subresources.get("status") is None else {}, "Scale": shown}


def _printed_column(column: Object) -> Object:
    names = {"Name": "name", "Type": "type", "Format": "format", "Description": "description"}
    shown: Object = {go: column.get(name) or "" for go, name in names.items()}
    return {**shown, "Priority": column.get("priority") or 0, "JSONPath": column.get("jsonPath") or ""}
