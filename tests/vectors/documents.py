"""What a kube-apiserver says about itself: how it is recorded.

``api/discovery.jsonl.gz`` has a line for each version that kube-apiserver 1.37.1 can emulate, ``api/openapi.jsonl.gz``
one for each document of OpenAPI 3 (without descriptions), ``api/custom-openapi.jsonl.gz`` one for each
definition of ``record/apiserver/definitions.yaml``, ``api/policy.jsonl.gz`` one for each role and binding that it
makes by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drakit_api.kubernetes_objects import Object

POLICY = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Of /version; the rest says when and with what a program was built.
_TOLD = (
    *("major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"),
    "gitVersion",
)
# How names of Kubernetes' own types begin.
_NATIVE = ("io.k8s.api", "io.k8s.kube-aggregator.")
_VERSIONS, _OF_ALL_VERSIONS = "x-kubernetes-group-version-kind", (".DeleteOptions", ".WatchEvent")
_OF_METADATA = ("name", "namespace", "labels", "annotations")
_OF_POLICY = ("metadata", "aggregationRule", "rules", "roleRef", "subjects")


def version_told(version: Object) -> Object:
    """What is recorded of ``/version``."""
    return {key: version[key] for key in _TOLD if key in version}


def undescribed(value: Any) -> Any:
    """A part of an OpenAPI document without descriptions."""
    if isinstance(value, dict):
        return {
            key: undescribed(entry)
            for key, entry in value.items()
            if not (key == "description" and isinstance(entry, str))
        }
    return [undescribed(entry) for entry in value] if isinstance(value, list) else value


def without_options(schemas: dict[str, Object]) -> dict[str, Object]:
    """Schemas, but for which versions options of a deletion are of: the real list has those that are never served."""
    return {
        name: {key: entry for key, entry in schema.items() if key != _VERSIONS or not name.endswith(_OF_ALL_VERSIONS)}
        for name, schema in schemas.items()
    }


def openapi_lines(documents: Mapping[str, Object]) -> Iterable[Object]:
    """A line for each document, by path: ``paths``, the names of all ``schemas``, and those that none before has."""
    seen: set[str] = set()
    for path, document in sorted(documents.items()):
        schemas = without_options(undescribed(document.get("components", {}).get("schemas", {})))
        new = {name: schemas[name] for name in sorted(schemas.keys() - seen)}
        seen |= schemas.keys()
        yield {"new": new, "path": path, "paths": undescribed(document["paths"]), "schemas": sorted(schemas)}


def role_line(resource: str, obj: Object) -> Object:
    """The line of a role or a binding."""
    metadata = {key: obj["metadata"][key] for key in _OF_METADATA if key in obj["metadata"]}
    found = {key: obj[key] for key in _OF_POLICY if obj.get(key)}
    return {"resource": resource, "object": {**found, "metadata": metadata}}


def paths_of(definition: Object) -> list[str]:
    """The paths of the documents that are of a definition's resource alone: its group is no other's."""
    spec = definition["spec"]
    return [f"apis/{spec['group']}/{version['name']}" for version in spec["versions"] if version["served"]]


def without_native(document: Object) -> Object:
    """A document of a custom resource; of Kubernetes' own types only the names."""
    schemas = document["components"]["schemas"]
    own = {name: schema for name, schema in schemas.items() if not name.startswith(_NATIVE)}
    return {**document, "components": {"schemas": own, "native": sorted(schemas.keys() - own)}}


def custom_swagger(swagger: Object, definition: Object) -> Object:
    """What the document of version 2 says of a definition's resource, with parameters where they are referred to."""
    parameters, paths = swagger.get("parameters", {}), tuple(f"/{path}/" for path in paths_of(definition))
    group = ".".join(reversed(definition["spec"]["group"].split(".")))
    return {
        "paths": {
            name: _inline(entry, parameters) for name, entry in swagger["paths"].items() if name.startswith(paths)
        },
        "definitions": {
            name: schema for name, schema in swagger["definitions"].items() if name.startswith(f"{group}.")
        },
    }


def _inline(value: Any, parameters: Object) -> Any:
    if isinstance(value, list):
        return [_inline(entry, parameters) for entry in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/parameters/")
    return parameters.get(name) or {key: _inline(entry, parameters) for key, entry in value.items()}
