"""The columns of a custom resource, as its definition names them by JSON paths.

k8s.io/apiextensions-apiserver v0.37 pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from drakit_api.golang.gostrings import as_marshaled, to_json
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.json_paths import JsonPath, PathError
from drakit_embedded.apiserver.wire.columns import age

_NAME: Object = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. Name is primarily "
    "intended for creation idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}
Cell = Callable[[Object], Any]


def of(version: Version) -> tuple[list[Object], Callable[[Object], list[Any]]]:
    """Build the column definitions of a version, and the function that fills a row; the first column is the name.

    A path that cannot be read ends the columns.
    """
    headers, cells = [_NAME], list[Cell]()
    for column in version.columns:
        try:
            path = JsonPath(column["jsonPath"])
        except PathError:
            break
        headers.append(_header(column))
        cells.append(partial(_cell, path, column["type"]))

    def row(obj: Object) -> list[Any]:
        return [obj["metadata"].get("name", ""), *(cell(obj) for cell in cells)]

    return headers, row


def _header(column: Object) -> Object:
    return {
        "name": column["name"],
        "type": column["type"],
        "format": column.get("format") or "",
        "description": column.get("description")
        or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
        "priority": column.get("priority") or 0,
    }


def _cell(path: JsonPath, kind: str, obj: Object) -> Any:
    try:
        found = path.find(obj)
    except PathError:
        return None
    return _shown(found[0], kind) if found else None


def _shown(value: Any, kind: str) -> Any:
    """Convert a value to what a column of a type shows (cellForJSONValue); None if it is of another type."""
    if kind == "string":
        return _text(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer" and is_number:
        return int(value)
    if kind == "number" and is_number:
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "date" and isinstance(value, str):
        shown = age(value)
        return "<invalid>" if shown == "<unknown>" else shown
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if value is None:
        return None
    return to_json(as_marshaled(value)) if isinstance(value, dict | list) else msgspec.json.encode(value).decode()
