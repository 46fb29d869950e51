"""The CEL types of kinds, from the OpenAPI documents that every API server publishes.

After k8s.io/apiserver/pkg/cel/openapi/resolver and pkg/cel/common/schemas.go. A Pod has some thousand fields, of which
a policy names two or three: the type of a field is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from drakit_api.cel.declared import Declared
from drakit_api.cel.values import types
from drakit_api.kubernetes_objects import Object
from drakit_api.rules.names import escaped
from drakit_client.connection import Connection
from drakit_client.errors import NotFound

_REFERENCE = "#/components/schemas/"
# The names of types in documents begin with this, unless they are of custom resources, which may change.
_BUILT_IN = "io.k8s."
_BY_FORMAT = {
    "byte": Declared("bytes", types.BYTES),
    "date": Declared("timestamp", types.TIMESTAMP),
    "date-time": Declared("timestamp", types.TIMESTAMP),
    "duration": Declared("duration", types.DURATION),
}
_SCALARS = {
    "boolean": Declared("bool", types.BOOL),
    "integer": Declared("int", types.INT),
    "number": Declared("double", types.DOUBLE),
    "string": Declared("string", types.STRING),
}
_DYNAMIC = Declared("dyn", types.DYN)
_Schemas = Mapping[str, Object]
_KINDS = "x-kubernetes-group-version-kind"
_STRING: Object = {"type": "string"}
# What expressions see of any resource, also of one that is embedded, even if its schema does not say so.
_OF_RESOURCES: _Schemas = {
    "kind": _STRING,
    "apiVersion": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}


class PublishedTypes:
    """Finds kinds by their plural, and their types; of Kubernetes' own kinds, documents are read once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], Object] = {}

    async def kind(self, group: str, version: str, plural: str) -> str | None:
        """Find the kind of a plural, or None if none is served."""
        found = await self._get(f"/{_path(group, version)}")
        return next((entry["kind"] for entry in found.get("resources") or () if entry["name"] == plural), None)

    async def declared(self, group: str, version: str, kind: str) -> Declared | None:
        """Find the type of a kind, or None if it has no document, or not yet."""
        identity = {"group": group, "version": version, "kind": kind}
        document = self._known.get((group, version)) or await self._get(f"/openapi/v3/{_path(group, version)}")
        schemas: _Schemas = (document.get("components") or {}).get("schemas") or {}
        for name, schema in schemas.items():
            if identity in (schema.get(_KINDS) or ()):
                if name.startswith(_BUILT_IN):
                    self._known[group, version] = document
                return _declared(schema, schemas)
        return None

    async def _get(self, path: str) -> Object:
        try:
            return await self._connection.json("GET", path)
        except NotFound:
            return {}


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _declared(schema: Object, schemas: _Schemas) -> Declared | None:
    """Make the type of a schema; None if expressions cannot see such values."""
    schema = _resolved(schema, schemas)
    kind, form = schema.get("type"), schema.get("format")
    if form == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return _DYNAMIC
    if kind == "array":
        element = _declared(schema.get("items") or {}, schemas)
        return None if element is None else Declared("list", types.list_of(element.type), element=element)
    if kind != "object":
        return _BY_FORMAT.get(form or "", _SCALARS["string"]) if kind == "string" else _SCALARS.get(kind or "")
    values = schema.get("additionalProperties")
    if not isinstance(values, dict):
        properties = schema.get("properties") or {}
        if schema.get("x-kubernetes-embedded-resource"):
            properties = {**_OF_RESOURCES, **properties}
        return Declared("object", types.struct("object"), fields=_Fields(properties, schemas))
    element = _declared(values, schemas)
    return None if element is None else Declared("map", types.map_of(types.STRING, element.type), element=element)


def _resolved(schema: Object, schemas: _Schemas) -> Object:
    """Follow references, which may stand alone in an ``allOf`` beside a default."""
    while True:
        [inner] = schema["allOf"] if len(schema.get("allOf") or ()) == 1 else [schema]
        reference = inner.get("$ref")
        if reference is None:
            return schema
        schema = schemas.get(reference.removeprefix(_REFERENCE)) or {}


class _Fields(Mapping[str, Declared]):
    """The types of an object's fields by their names in expressions, each made when it is first asked for."""

    def __init__(self, properties: _Schemas, schemas: _Schemas) -> None:
        self._properties = {name_there: each for name, each in properties.items() if (name_there := escaped(name))}
        self._schemas = schemas
        self._made: dict[str, Declared | None] = {}

    def __getitem__(self, name: str) -> Declared:
        if name not in self._made:
            self._made[name] = _declared(self._properties[name], self._schemas)
        made = self._made[name]
        if made is None:
            raise KeyError(name)
        return made

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._properties if name in self)

    def __contains__(self, name: Any) -> bool:
        return self.get(name) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)
