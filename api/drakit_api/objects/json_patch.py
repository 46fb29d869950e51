"""JSON patch as kube-apiserver applies it: RFC 6902 in most, but not where its library is more lenient.

What is missing in an object can be replaced, copied and tested for null; whatever stands before the first slash of a
path is not looked at; indices may count from the end. The whole object can be replaced, but nothing can be added in
its place. After gopkg.in/evanphx/json-patch.v4 ``patch.go``, with its errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from drakit_api.golang.gostrings import quote, to_json

Container = dict[str, Any] | list[Any]
Operation = dict[str, Any]
_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)
# More digits than any index of a list has.
_MOST_DIGITS = 18
# JSONPatchMaxCopyBytes of k8s.io/apiserver/pkg/server/config.go, for all operations together
_MOST_COPIED = 3 * 1024 * 1024
_MISSING = "missing value"


class OperationError(ValueError):
    """A JSON patch operation that is malformed, or does not fit the object."""


class FailedTestError(OperationError):
    """A ``test`` operation whose value is another."""


def applied(document: Container, operations: Sequence[Operation | None]) -> Container:
    """Apply the operations and return the patched document; the given one may change and must not be used afterwards.

    Raises:
        OperationError: if an operation does not apply; ``FailedTestError`` if it is a test that fails.
    """
    copied = 0
    for each in operations:
        # In Go, null is an operation of which nothing is said.
        operation = {} if each is None else each
        if operation.get("op") == "copy":
            copied = _copy(document, operation, copied)
        else:
            document = _applied(document, operation)
    return document


def _applied(document: Container, operation: Operation) -> Container:
    kind = operation.get("op")
    match kind:
        case "add":
            _add(document, operation)
        case "remove":
            _remove(document, operation)
        case "replace":
            return _replace(document, operation)
        case "move":
            _move(document, operation)
        case "test":
            _test(document, operation)
        case _:
            raise OperationError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
    return document


def _add(document: Container, operation: Operation) -> None:
    path = _path(operation, "path", "add", f"add operation failed to decode path: {_MISSING}")
    container, key = _place(document, path, f"add operation does not apply: doc is missing path: {quote(path)}")
    with _Within(f"error in add for path: '{path}'"):
        _insert(container, key, _copied(operation.get("value")))


def _remove(document: Container, operation: Operation) -> None:
    path = _path(operation, "path", "remove", f"remove operation failed to decode path: {_MISSING}")
    container, key = _place(document, path, f"remove operation does not apply: doc is missing path: {quote(path)}")
    with _Within(f"error in remove for path: '{path}'"):
        _delete(container, key)


def _replace(document: Container, operation: Operation) -> Container:
    path, value = _path(operation, "path", "replace"), operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise OperationError("replace operation value must be object or array: %!w(<nil>)")
        whole: Container = _copied(value)
        return whole
    container, key = _place(document, path, f"replace operation does not apply: doc is missing path: {path}")
    if isinstance(container, dict):
        container[key] = _copied(value)
        return document
    try:
        container[_index(len(container), key)] = _copied(value)
    except OperationError:
        raise OperationError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None
    return document


def _move(document: Container, operation: Operation) -> None:
    origin = _path(operation, "from", "move")
    container, key = _place(document, origin, f"move operation does not apply: doc is missing from path: {origin}")
    with _Within(f"error in move for path: '{key}'"):
        found = _get(container, key)
        _delete(container, key)
    path = _path(operation, "path", "move")
    container, key = _place(document, path, f"move operation does not apply: doc is missing destination path: {path}")
    with _Within(f"error in move for path: '{path}'"):
        _insert(container, key, found)


def _test(document: Container, operation: Operation) -> None:
    path, found = _path(operation, "path", "test"), document
    if path != "":
        container, key = _place(document, path, f"test operation does not apply: is missing path: {path}")
        with _Within(f"error in test for path: '{path}'"):
            found = _get(container, key)
    if not _equal(found, operation.get("value")):
        raise FailedTestError(f"testing value {path} failed: test failed")


def _copy(document: Container, operation: Operation, copied: int) -> int:
    """Copy a value; ``copied`` is how many bytes of JSON were copied before, and the result how many now."""
    origin = _path(operation, "from", "copy")
    container, key = _place(document, origin, f"copy operation does not apply: doc is missing from path: {origin}")
    with _Within(f"error in copy for from: '{origin}'"):
        found = _get(container, key)
    path = _path(operation, "path", "copy", f"copy operation failed to decode path: {_MISSING}")
    container, key = _place(document, path, f"copy operation does not apply: doc is missing destination path: {path}")
    copied += len(to_json(found).encode())
    if copied > _MOST_COPIED:
        why = f"the accumulated size increase of copy is {copied}, exceeding the limit {_MOST_COPIED}"
        raise OperationError(f"Unable to complete the copy, {why}")
    with _Within("error while adding value during copy"):
        _insert(container, key, _copied(found))
    return copied


class _Within:
    """Says of an error in which operation it was, as Go's wrapped errors do."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OperationError):
            raise OperationError(f"{self._where}: {error}") from None


def _path(operation: Operation, field: str, kind: str, missing: str = "") -> str:
    path = operation.get(field)
    if isinstance(path, str):
        return path
    comma = "," if field == "from" else ""
    why = f"operation{comma} missing {field} field: {_MISSING}"
    raise OperationError(missing or f"{kind} operation failed to decode {field}: {why}")


def _place(document: Container, path: str, missing: str) -> tuple[Container, str]:
    """Find the container that a path leads to, and the key in it (``findObject``)."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    if len(parts) < 2:
        raise OperationError(f"{missing}: {_MISSING}")
    found: Any = document
    for part in parts[1:-1]:
        try:
            found = _get(found, part)
        except OperationError:
            found = None
        if not isinstance(found, dict | list):
            raise OperationError(f"{missing}: {_MISSING}")
    return found, parts[-1]


def _get(container: Container, key: str) -> Any:
    """Look up a value in a container; None for what an object does not have."""
    return container.get(key) if isinstance(container, dict) else container[_index(len(container), key)]


def _insert(container: Container, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(len(container) + 1, key, "value was not a proper array index: '{}': "), value)


def _delete(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(len(container), key)]
    elif key in container:
        del container[key]
    else:
        raise OperationError(f"Unable to remove nonexistent key: {key}: {_MISSING}")


def _index(count: int, key: str, no_number: str = "") -> int:
    """Parse an index of a list with ``count`` items; a negative one counts from the end."""
    if _INDEX.fullmatch(key) is None:
        raise OperationError(f"{no_number.format(key)}strconv.Atoi: parsing {quote(key)}: invalid syntax")
    # Numbers that are too long would take too long to parse, and cannot be an index.
    digits = key.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        raise OperationError(f"{no_number.format(key)}strconv.Atoi: parsing {quote(key)}: value out of range")
    index = -int(digits) if key.startswith("-") else int(digits)
    if not -count <= index < count:
        raise OperationError(f"Unable to access invalid index: {index}: invalid index referenced")
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
