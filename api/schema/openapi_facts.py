"""Prints what the OpenAPI documents of Kubernetes say of its types and Go's reflection does not tell.

    python openapi_facts.py URL TOKEN ../drakit_api/objects/schema.json SCHEME/structures.json > OPENAPI/facts.json

(SCHEME and OPENAPI are ``scheme`` and ``about/openapi`` of ``embedded/drakit_embedded/apiserver``.)
It asks a kube-apiserver with every version of resource.k8s.io switched on. ``fields`` has, for each struct, which of
its fields are required, and what is said of single ones (enumerations, explicit list types, defaults); ``definitions``
the types that are in neither table of ``main.go``, because nothing of them is stored; ``parameters`` the descriptions
of what a query may ask for. Descriptions of types are left out.
"""

from __future__ import annotations

import json
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any

from drakit_api.kubernetes_objects import Object

_PACKAGES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.")
_KINDS = "x-kubernetes-group-version-kind"
# What follows from the Go type alone.
_DERIVED = {
    *("type", "format", "items", "additionalProperties", "allOf", "$ref", "properties"),
    *("x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key", "x-kubernetes-list-map-keys"),
}
_ZEROS: tuple[object, ...] = ("", 0, False, {})
# Subresources whose parameters are their own, and those whose parameters nobody describes.
_CONNECTIONS = ("attach", "exec", "portforward")
_PROXIES = ("proxy", "{path}")
# Kinds that are sent and never served.
_SENT = ("meta/", "policy/v1.Eviction", "autoscaling/v1.Scale")


def read(url: str, token: str, path: str) -> Object:
    """Read a document of a server, whose certificate is not asked for: it is on this machine."""
    context = ssl._create_unverified_context()  # noqa: S323
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310
        found: Object = json.load(answer)
    return found


def documents(url: str, token: str) -> list[Object]:
    """Read the documents of all versions."""
    listed = read(url, token, "/openapi/v3")["paths"]
    return [read(url, token, entry["serverRelativeURL"]) for entry in listed.values()]


def schemas(found: list[Object]) -> dict[str, Object]:
    """Collect the schemas of all documents."""
    return {name: schema for each in found for name, schema in each.get("components", {}).get("schemas", {}).items()}


def parameters(found: list[Object]) -> dict[str, str]:
    """Collect what parameters of the query mean; of several descriptions the shortest, which says what all say."""
    described: dict[str, str] = {}
    for path, operations in (item for document in found for item in document["paths"].items()):
        last = path.rpartition("/")[2]
        listed = [operations.get("parameters", []), *(each.get("parameters", []) for each in _methods(operations))]
        for entry in (entry for entries in listed for entry in entries if entry["in"] == "query"):
            name = f"{entry['name']} of {last}" if last in _CONNECTIONS else entry["name"]
            known = described.get(name)
            if last not in _PROXIES and (known is None or len(entry["description"]) < len(known)):
                described[name] = entry["description"]
    return dict(sorted(described.items()))


def _methods(operations: Object) -> list[Object]:
    return [operation for key, operation in operations.items() if key != "parameters"]


def undescribed(value: Any) -> Any:
    """Drop the descriptions."""
    if isinstance(value, dict):
        return {
            key: undescribed(entry)
            for key, entry in sorted(value.items())
            if not (key == "description" and isinstance(entry, str))
        }
    return [undescribed(entry) for entry in value] if isinstance(value, list) else value


def struct_of(name: str) -> str:
    """Return ``core/v1.Pod`` for ``io.k8s.api.core.v1.Pod``."""
    *_, group, version, kind = name.split(".")
    return f"{group}/{version}.{kind}"


def facts(found: dict[str, Object], known: dict[str, list[Object]]) -> Object:
    """Make both parts of the file."""
    fields, definitions = {}, {}
    for name, schema in sorted(found.items()):
        plain = undescribed(schema)
        kind = struct_of(name)
        if kind.endswith("List") and kind.removesuffix("List") in known:
            continue
        if kind in known and name.startswith(_PACKAGES):
            fields[kind] = of_struct(plain, kind, {field["name"]: field for field in known[kind]})
        else:
            definitions[name] = plain
    return {"fields": {name: entry for name, entry in fields.items() if entry}, "definitions": definitions}


def of_struct(schema: Object, struct: str, types: Object) -> Object:
    """Keep what cannot be derived of one struct."""
    derived = _DERIVED if struct.startswith(_SENT) else {*_DERIVED, _KINDS}
    entry: Object = {key: value for key, value in schema.items() if key not in derived}
    properties = {}
    for name, described in schema.get("properties", {}).items():
        if said := of_field(described, types.get(name, {"omit": True, "type": ""})):
            properties[name] = said
    return {**entry, "properties": properties} if properties else entry


def of_field(described: Object, field: Object) -> Object:
    """Keep what cannot be derived of a field: one never left out has a zero as default; its type says how to merge."""
    said = {key: value for key, value in described.items() if key not in _DERIVED}
    kind = field["type"]
    if said.get("default") in _ZEROS and not field["omit"] and not (isinstance(kind, dict) and "pointer" in kind):
        del said["default"]
    if isinstance(kind, dict) and "listType" in kind and kind["listType"] != "atomic":
        said.pop("x-kubernetes-list-type", None)
    elif "x-kubernetes-list-map-keys" in described:
        said["x-kubernetes-list-map-keys"] = described["x-kubernetes-list-map-keys"]
    for inside in ("items", "additionalProperties"):
        if "enum" in described.get(inside, {}):
            said[inside] = {"enum": described[inside]["enum"]}
    return said


def main() -> None:
    """Read, and print one struct a line."""
    tables = [json.loads(Path(path).read_bytes()) for path in sys.argv[3:]]
    known = {struct: fields for table in tables for struct, fields in table["structs"].items()}
    found = documents(*sys.argv[1:3])
    for part, entries in {**facts(schemas(found), known), "parameters": parameters(found)}.items():
        print("{" if part == "fields" else ",", f'"{part}": {{', sep="")
        lines = (f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}" for name, entry in entries.items())
        print(",\n".join(lines))
        print("}", end="")
    print("}")


if __name__ == "__main__":
    main()
