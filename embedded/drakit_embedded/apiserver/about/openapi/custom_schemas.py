"""The schemas of custom resources, as their definitions describe them, for both versions of OpenAPI.

Version 3 says all that a definition says. Version 2 says less, for the kubectl of old: no null, no alternatives, and
nothing about an object of which it does not know every field. After k8s.io/apiextensions-apiserver v0.37
pkg/controller/openapi/builder/builder.go, pkg/controller/openapi/v2/conversion.go and pkg/apiserver/schema/unfold.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.structural.schema import Structural
from drakit_embedded.apiserver.about.openapi import schemas
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.kinds import Kind

OpenApi = Literal[2, 3]
_encode = msgspec.json.Encoder().encode

# Said if there is a value, which may be zero or false, ...
_POINTERS = (
    *("maximum", "minimum", "multipleOf", "maxLength", "minLength", "maxItems", "minItems", "maxProperties"),
    *("minProperties", "example", "externalDocs"),
)
# ... and said if it is not.
_VALUES = (
    *("description", "title", "format", "pattern", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "enum"),
    *("required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"),
    "x-kubernetes-validations",
)
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING: list[Object] = [{"type": "integer"}, {"type": "string"}]

_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    f"{_CONVENTIONS}#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    f"endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
)
_EMBEDDED_API_VERSION = (
    f"apiVersion defines the versioned schema of this representation of an object. More info: {_CONVENTIONS}#resources"
)
_EMBEDDED_KIND = (
    f"kind is a string value representing the type of this object. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
)
_METADATA = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_METADATA = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"


def of(kind: Kind, version: OpenApi) -> dict[str, Object]:
    """Build the schemas of a custom resource and of its list, by name."""
    assert kind.definition is not None
    described = kind.definition.versions[kind.version]
    name = schemas.name_of(kind)
    single, listed = _resource(described.schema, version), _list(kind, name, version)
    for schema, named in ((single, kind.kind), (listed, kind.list_kind)):
        schema["x-kubernetes-group-version-kind"] = [{"group": kind.group, "kind": named, "version": kind.version}]
        if described.selectable:
            schema["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in described.selectable]
    return {name: single, schemas.list_name_of(kind): listed}


def essence(version: Version) -> Object:
    """Collect what the schemas of a version are made of; the schema, which may be large, is hashed once."""
    return {"schema": version.compiled("hash", _hash), "selectable": version.selectable}


def _hash(schema: Structural) -> str:
    return hashlib.sha256(_encode(schema.source)).hexdigest()


def _resource(schema: Structural, version: OpenApi) -> Object:
    """Build the schema of whole objects (buildKubeNative)."""
    if not schema.source or (version == 2 and schema.preserves_unknown):
        # With properties, kubectl would take all others for unknown fields.
        return {"type": "object"}
    made = _level(schema, version)
    made["properties"] = {**made.get("properties", {}), **_type_meta(_API_VERSION, _KIND, version)}
    return made


def _list(kind: Kind, name: str, version: OpenApi) -> Object:
    more = f"List of {kind.plural}. More info: {_CONVENTIONS}"
    items = {"description": more, "type": "array", "items": {"$ref": _prefix(version) + name}}
    properties = _type_meta(_API_VERSION, _KIND, version)
    properties |= {"items": items, "metadata": _reference(f"{schemas.META}.ListMeta", _LIST_METADATA, version)}
    return {
        "description": f"{kind.list_kind} is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": properties,
    }


def _level(schema: Structural, version: OpenApi) -> Object:
    """Describe one level of a schema, with all below it."""
    kind, items, properties = schema.type, schema.items, schema.properties
    if version == 2:
        kind, items, properties = _simplified(schema)
        made = _required_2(_validations(schema.source), schema, properties)
    else:
        made = _validations(schema.source) | _generics(schema.source) | _alternatives(schema)
    if kind:
        made["type"] = kind
    if items is not None:
        made["items"] = _level(items, version)
    if properties:
        made["properties"] = {name: _level(each, version) for name, each in properties.items()}
    if schema.additional is not None:
        more = schema.additional
        made["additionalProperties"] = _level(more, version) if isinstance(more, Structural) else more
    if schema.is_embedded and not (version == 2 and schema.preserves_unknown):
        _embed(made, version)
    return made


def _simplified(schema: Structural) -> tuple[str, Structural | None, Mapping[str, Structural]]:
    """Decide on the type, items and properties that version 2 shows of a level (ToStructuralOpenAPIV2)."""
    if schema.nullable:
        return "", None, {}
    if schema.preserves_unknown:
        return "" if schema.type in ("array", "object") else schema.type, None, {}
    is_vague = schema.type == "array" and schema.items is None
    return "" if is_vague else schema.type, schema.items, schema.properties


def _required_2(made: Object, schema: Structural, properties: Mapping[str, Structural]) -> Object:
    """Require nothing that may be null: version 2 cannot say both."""
    nullable = {name for name, each in properties.items() if each.nullable}
    required = [name for name in made.pop("required", ()) if name not in nullable]
    may_be_null = isinstance(schema.additional, Structural) and schema.additional.nullable
    return {**made, "required": required} if required and not may_be_null else made


def _embed(made: Object, version: OpenApi) -> None:
    """Say of an embedded object that it has the fields of all objects (addEmbeddedProperties)."""
    own = _type_meta(_EMBEDDED_API_VERSION, _EMBEDDED_KIND, version)
    made["properties"] = {**made.get("properties", {}), **own}
    required = made.get("required", [])
    made["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]


def _validations(source: Mapping[str, Any]) -> Object:
    found = {key: source[key] for key in _POINTERS if source.get(key) is not None}
    return found | {key: source[key] for key in _VALUES if source.get(key)}


def _generics(source: Mapping[str, Any]) -> Object:
    """Collect what version 3 says of a level besides, and version 2 does not."""
    found: Object = {"nullable": True} if source.get("nullable") else {}
    return found if source.get("default") is None else {**found, "default": source["default"]}


def _alternatives(schema: Structural) -> Object:
    """Describe the alternatives of a level, those that are implied by ``x-kubernetes-int-or-string`` among them."""
    found: Object = {key: [_nested(each) for each in schema.source[key]] for key in _JUNCTORS if schema.source.get(key)}
    if schema.source.get("not") is not None:
        found["not"] = _nested(schema.source["not"])
    said = found.get("anyOf"), found.get("allOf", [{}])[0].get("anyOf")
    if schema.int_or_string and _INT_OR_STRING not in said:
        either = {"anyOf": _INT_OR_STRING}
        found |= {"allOf": [either, *found.get("allOf", ())]} if "anyOf" in found else either
    return found


def _nested(source: Mapping[str, Any]) -> Object:
    """Describe a schema below a junctor, which only restricts what is said beside it."""
    found = _validations(source) | _generics(source)
    found |= {key: [_nested(each) for each in source[key]] for key in _JUNCTORS if source.get(key)}
    if source.get("type"):
        found["type"] = source["type"]
    for key in ("not", "items"):
        if source.get(key) is not None:
            found[key] = _nested(source[key])
    if source.get("properties"):
        found["properties"] = {name: _nested(each) for name, each in source["properties"].items()}
    return found


def _type_meta(api_version: str, kind: str, version: OpenApi) -> dict[str, Object]:
    return {
        "apiVersion": {"description": api_version, "type": "string"},
        "kind": {"description": kind, "type": "string"},
        "metadata": _reference(f"{schemas.META}.ObjectMeta", _METADATA, version),
    }


def _reference(name: str, description: str, version: OpenApi) -> Object:
    """Refer to a type and describe it: version 3 has no siblings of ``$ref``."""
    reference = {"$ref": _prefix(version) + name}
    return {"description": description, **(reference if version == 2 else {"allOf": [reference]})}


def _prefix(version: OpenApi) -> str:
    return schemas.DEFINITIONS if version == 2 else schemas.REFERENCE
