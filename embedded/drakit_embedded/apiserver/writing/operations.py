"""JSON patch as kube-apiserver applies it: RFC 6902 in most, but not where its library is more lenient.

What is missing in an object can be replaced, copied and tested for null; whatever stands before the first slash of a
path is not looked at; indices may count from the end. The whole object can be replaced, but nothing can be added in
its place. After gopkg.in/evanphx/json-patch.v4 ``patch.go``.
"""

from __future__ import annotations

import re
from typing import Any

from drakit_api.golang.gostrings import to_json

Container = dict[str, Any] | list[Any]
_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)
# More digits than any index of a list has.
_MOST_DIGITS = 18
# JSONPatchMaxCopyBytes of k8s.io/apiserver/pkg/server/config.go, for all operations together
_MOST_COPIED = 3 * 1024 * 1024


class OperationError(ValueError):
    """A JSON patch operation that is malformed, or does not fit the object."""


def applied(document: Container, operations: list[dict[str, Any]]) -> Container:
    """Apply the operations and return the patched document; the given one may change and must not be used afterwards.

    Raises:
        OperationError: if an operation does not apply.
    """
    copied = 0
    for operation in operations:
        if operation.get("op") == "copy":
            copied += _copy(document, operation, _MOST_COPIED - copied)
        else:
            document = _applied(document, operation)
    return document


def _copy(document: Container, operation: dict[str, Any], most: int) -> int:
    """Copy a value that is no longer than ``most`` bytes of JSON; how many it is."""
    found = _get(*_place(document, operation, "from"))
    size = len(to_json(found).encode())
    if size > most:
        raise OperationError(f"Unable to copy, the accumulated size increase of copy is more than {_MOST_COPIED}")
    _add(*_place(document, operation), _copied(found))
    return size


def _applied(document: Container, operation: dict[str, Any]) -> Container:
    value = operation.get("value")
    match operation.get("op"):
        case "add":
            _add(*_place(document, operation), _copied(value))
        case "remove":
            _remove(*_place(document, operation))
        case "replace" if operation.get("path") == "":
            if not isinstance(value, dict | list):
                raise OperationError("replace operation value must be object or array")
            whole: Container = _copied(value)
            return whole
        case "replace":
            _replace(*_place(document, operation), _copied(value))
        case "move":
            container, key = _place(document, operation, "from")
            found = _get(container, key)
            _remove(container, key)
            _add(*_place(document, operation), found)
        case "test":
            found = document if operation.get("path") == "" else _get(*_place(document, operation))
            if not _equal(found, value):
                raise OperationError("testing value failed")
        case unknown:
            raise OperationError(f"Unexpected kind: {unknown}")
    return document


def _place(document: Container, operation: dict[str, Any], field: str = "path") -> tuple[Container, str]:
    """Find the container that a path leads to, and the key in it (``findObject``)."""
    path = operation.get(field)
    if not isinstance(path, str):
        raise OperationError(f"operation missing {field} field")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    if len(parts) < 2:
        raise OperationError(f"doc is missing path: {path}")
    found: Any = document
    for part in parts[1:-1]:
        found = _get(found, part)
        if not isinstance(found, dict | list):
            raise OperationError(f"doc is missing path: {path}")
    return found, parts[-1]


def _get(container: Container, key: str) -> Any:
    """Look up a value in a container; None for what an object does not have."""
    return container.get(key) if isinstance(container, dict) else container[_index(len(container), key)]


def _add(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(len(container) + 1, key), value)


def _remove(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(len(container), key)]
    elif key in container:
        del container[key]
    else:
        raise OperationError(f"Unable to remove nonexistent key: {key}")


def _replace(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(len(container), key)] = value


def _index(count: int, key: str) -> int:
    """Parse an index of a list with ``count`` items; a negative one counts from the end."""
    if _INDEX.fullmatch(key) is None:
        raise OperationError(f"value was not a proper array index: {key}")
    # Numbers that are too long would take too long to parse, and cannot be an index.
    digits = key.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        raise OperationError(f"Unable to access invalid index: {key}")
    index = -int(digits) if key.startswith("-") else int(digits)
    if not -count <= index < count:
        raise OperationError(f"Unable to access invalid index: {key}")
    return index % count


def _copied(value: Any) -> Any:
    """Copy containers; scalars never change."""
    if isinstance(value, dict):
        return {key: _copied(item) if isinstance(item, dict | list) else item for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) if isinstance(item, dict | list) else item for item in value]
    return value


def _equal(found: Any, wanted: Any) -> bool:
    """Compare values and their types: 1 equals neither true nor 1.0."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_equal(found[key], wanted[key]) for key in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    return type(found) is type(wanted) and bool(found == wanted)
