"""PATCH in its four types, each turning the stored object into the wanted one; the write itself is an update.

After k8s.io/apiserver/pkg/endpoints/handlers/patch.go. A patch is applied to the object in the version of the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import formatted, quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch, raw_extensions
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Key
from drakit_embedded.apiserver.wire import budget
from drakit_embedded.apiserver.writing import merge_keys, printed, strategic
from drakit_embedded.apiserver.writing.writes import Change

PatchType = Literal["merge", "strategic", "json", "apply"]
_TYPES: dict[str, PatchType] = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/json-patch+json": "json",
    "application/apply-patch+yaml": "apply",
}
_OF_CUSTOM = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_OF_OPERATIONS = ("op", "path", "from", "value")
_STRICT = "strict decoding error: "
# k8s.io/apiserver/pkg/endpoints/handlers/patch.go maxJSONPatchOperations
_MOST_OPERATIONS = 10_000


class Patch(NamedTuple):
    """A decoded patch: an object, or for JSON patch a list of operations."""

    type: PatchType
    content: Any
    # What strict decoding reports: repeated keys, and unknown keys of operations.
    complaints: Sequence[str] = ()


class Reader(NamedTuple):
    """How to decode the result of a patch: the function, ``fieldValidation``, and the list that takes warnings."""

    incoming: Change
    validation: str
    warnings: list[str]


def type_of(content_type: str) -> PatchType:
    """Find the patch type of a content type; 415 for an unknown one."""
    kind = _TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        raise statuses.unsupported_patch()
    return kind


def check_type(content_type: str, kind: Kind) -> None:
    """Refuse with 415 what a kind takes no patches of: of custom resources nobody knows how to merge their lists."""
    named = content_type.partition(";")[0].strip().lower()
    if kind.definition is not None and _TYPES.get(named, "strategic") == "strategic":
        raise statuses.unsupported_body(*_OF_CUSTOM)


def parse(raw: bytes, content_type: str, find: Callable[[], object] = lambda: None) -> Patch:
    """Read a patch; 415 for an unknown type, 400 for one that is not of its type.

    ``find`` looks for what is to be patched, and raises if there is none: JSON is read before, what it says after.
    """
    kind = type_of(content_type)
    if kind == "apply":
        return _configuration(raw, find)
    try:
        content = gojson.read(raw)
        budget.check(content, raw)
    except (gojson.JsonError, budget.TooDeepError):
        raise statuses.bad_request("invalid JSON patch") from None
    find()
    if (literal := gojson.too_large(content)) is not None:
        raise _too_large(kind, content, literal)
    complaints: list[str] = []
    # An object with a repeated key anywhere in it is Repeated; a list has to be searched.
    if isinstance(content, gojson.Repeated | list):
        complaints = [f"duplicate field {quote(path)}" for path in dict.fromkeys(gojson.duplicates(content))]
        content = gojson.single(content)
    if content is None:
        if kind == "merge":
            raise statuses.bad_request("Invalid JSON Patch")
        content = [] if kind == "json" else {}
    if kind == "json":
        _check_operations(content)
        complaints = [f"json patch {complaint}" for complaint in (*complaints, *_unknown(content))]
    elif not isinstance(content, dict):
        why = f"json: cannot unmarshal {gojson.name_of(content)} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(why if kind == "strategic" else f"error decoding patch: {why}")
    return Patch(kind, content, complaints)


def _too_large(kind: PatchType, content: Any, literal: str) -> statuses.StatusError:
    """Build the 400 for a number that is too large for a float, as Go finds when it reads the patch."""
    why = gojson.of_float(literal)
    if kind == "json" and isinstance(content, list):
        why = why.replace("Go value", "Go struct field jsonPatchOp.value")
    return statuses.bad_request(f"error decoding patch: {why}")


def _configuration(raw: bytes, find: Callable[[], object]) -> Patch:
    """Parse an applied configuration; an empty document is an empty object."""
    # Imported here: importing it takes a twentieth of a start.
    from drakit_embedded.apiserver.wire import yaml_bodies

    try:
        content, repeated = yaml_bodies.read(raw)
    except yaml_bodies.YamlError as error:
        looks_like_json = raw.lstrip().startswith(b"{")
        step = "decoding patch: error converting YAML to JSON" if looks_like_json else "encoding patch"
        raise statuses.bad_request(f"error {step}: {error}") from None
    find()
    if content is not None and not isinstance(content, dict):
        why = f"json: cannot unmarshal {gojson.name_of(content)} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {why}")
    return Patch("apply", content or {}, repeated)


def _check_operations(content: Any) -> None:
    wrong, into = content, "[]handlers.jsonPatchOp"
    if isinstance(content, list):
        wrong, into = next((item for item in content if not isinstance(item, dict)), {}), "handlers.jsonPatchOp"
    if not isinstance(content, list) or not isinstance(wrong, dict):
        why = f"json: cannot unmarshal {gojson.name_of(wrong)} into Go value of type {into}"
        raise statuses.bad_request(f"error decoding patch: {why}")
    if len(content) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(content)}"
        raise statuses.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def _unknown(content: list[Object]) -> Iterator[str]:
    for index, operation in enumerate(content):
        yield from (f'unknown field "[{index}].{key}"' for key in operation if key not in _OF_OPERATIONS)


def merge(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386); ``target`` may be changed and must not be used afterwards.

    As in gopkg.in/evanphx/json-patch.v4 (merge.go), a list loses the nulls in its objects, too, unless it takes the
    place of an object.
    """
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        return _without_nulls(patch)
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(target.get(key), dict):
            target[key] = merge(target[key], value)
        else:
            target[key] = _without_nulls(value)
    return target


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def plain(obj: Object, patch: Patch, node: merge_keys.Node = merge_keys.PLAIN) -> Object:
    """Apply a patch that is not server-side apply.

    Raises:
        StatusError: 422 for a JSON patch that does not fit, or whose result is no object.
    """
    if patch.type == "merge":
        return _object(merge(obj, patch.content))
    if patch.type == "strategic":
        return strategic.merge(obj, patch.content, node)
    if patch.type == "json":
        return _object(_operate(obj, patch.content))
    raise statuses.unsupported_patch()


def _operate(obj: Object, wanted: Any) -> Any:
    """Apply a JSON patch, and check the size of the result as that of a body."""
    try:
        patched = json_patch.applied(obj, wanted)
        budget.check(patched)
    except (json_patch.OperationError, budget.TooDeepError, RecursionError):
        raise statuses.rejected() from None
    return patched


def _object(value: Any) -> Object:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict | None):
        raise statuses.rejected()
    return value


def change(served: Served, key: Key, patch: Patch, reader: Reader) -> Change:
    """Build the change that a patch makes; its result is read like a body."""
    kind = served.kind
    node = merge_keys.of(kind)

    def patched(stored: Object) -> Object:
        if not stored:
            # A patch cannot create, not even a kind that an update can.
            raise statuses.absent(kind.plural, kind.group, key[1])
        if served.converter is not None:
            stored = served.converter.from_storage(stored)
        typed = {"kind": kind.kind, "apiVersion": kind.api_version, **stored}
        found = plain(typed, patch, node)
        if patch.type == "strategic":
            # Upstream merges into a Go type, so a patch cannot change the kind.
            found |= {"kind": kind.kind, "apiVersion": kind.api_version}
            raw_extensions.print_sorted(found)
        else:
            raw_extensions.print_anew(found)
        read = _read(kind, patch, found, reader)
        if not read["metadata"].get("name"):
            raise statuses.nameless(key[1])
        return read

    return patched


def _read(kind: Kind, patch: Patch, found: Object, reader: Reader) -> Object:
    refused = list(patch.complaints) if reader.validation == "Strict" else []
    if reader.validation not in ("Strict", "Ignore"):
        reader.warnings.extend(patch.complaints)
    shown = dict(found)
    try:
        read = reader.incoming(found)
    except statuses.StatusError as error:
        raise _converted(error, kind, patch, shown, refused) from None
    if refused:
        raise unreadable(kind, patch, shown, _STRICT + ", ".join(refused))
    return read


def _converted(
    error: statuses.StatusError, kind: Kind, patch: Patch, found: Object, complaints: Sequence[str]
) -> statuses.StatusError:
    """Turn the 400 of a body into the 422 of a patch, whose result cannot be read."""
    match = re.match(rf'\S+ in version "[^"]*" cannot be handled as a {kind.kind}: ', error.message)
    if error.code != 400 or match is None:
        return error
    why = error.message.removeprefix(match[0])
    if complaints and why.startswith(_STRICT):
        why = _STRICT + ", ".join([*complaints, why.removeprefix(_STRICT)])
    return unreadable(kind, patch, found, why)


def unreadable(kind: Kind, patch: Patch, found: Object, why: str) -> statuses.StatusError:
    """Build the 422 for a patch whose result cannot be read."""
    if patch.type == "strategic":
        shown, why = formatted(strategic.leftover(patch.content)), _of_converter(why)
    else:
        touched = printed.of_operations(patch.content) if patch.type == "json" else patch.content
        shown = printed.text(found, kind, touched)
    cause = statuses.Cause("FieldValueInvalid", "patch", f"Invalid value: {quote(shown)}: {why}")
    return statuses.invalid("", "", "", [cause])


_WRONG_TYPE = re.compile(r"json: cannot unmarshal (\w+) into Go struct field \S+ of type (.*)")
_KINDS = {"array": "slice", "object": "map", "number": "int64"}


def _of_converter(why: str) -> str:
    """Reword a type error as FromUnstructured does, by which the result of a strategic merge patch is read."""
    match = _WRONG_TYPE.fullmatch(why)
    if match is None:
        return why
    found, into = _KINDS.get(match[1], match[1]), match[2]
    if into.startswith("map["):
        return f"cannot restore map from {found}"
    if into.startswith("[]"):
        return f"cannot restore slice from {found}"
    if "." in into:
        return f"cannot restore struct from: {found}"
    return f"cannot convert int64 to {into}" if found == "int64" else f"unrecognized type: {into}"
