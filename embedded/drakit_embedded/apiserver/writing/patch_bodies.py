"""The body of a PATCH, in its four types: decoded, and refused if it is none of its type.

After k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.wire import budget

PatchType = Literal["merge", "strategic", "json", "apply"]
_TYPES: dict[str, PatchType] = {
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/json-patch+json": "json",
    "application/apply-patch+yaml": "apply",
}
_OF_CUSTOM = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
# The fields of an operation, of which the value may be anything.
_TEXTS, _VALUE = ("op", "path", "from"), "value"
# k8s.io/apiserver/pkg/endpoints/handlers/patch.go maxJSONPatchOperations
_MOST_OPERATIONS = 10_000


class Patch(NamedTuple):
    """A decoded patch: an object, or for JSON patch a list of operations."""

    type: PatchType
    content: Any
    # What strict decoding reports: repeated keys, and unknown keys of operations.
    complaints: Sequence[str] = ()


def type_of(content_type: str) -> PatchType:
    """Find the patch type of a content type; 415 for an unknown one."""
    kind = _TYPES.get(content_type.partition(";")[0])
    if kind is None:
        raise statuses.unsupported_patch()
    return kind


def check_type(content_type: str, kind: Kind) -> None:
    """Refuse with 415 what a kind takes no patches of: of custom resources nobody knows how to merge their lists."""
    named = content_type.partition(";")[0]
    if kind.definition is not None and _TYPES.get(named, "strategic") == "strategic":
        raise statuses.unsupported_body(*_OF_CUSTOM)


def parse(raw: bytes, content_type: str, find: Callable[[], object] = lambda: None, *, validation: str = "") -> Patch:
    """Read a patch; 415 for an unknown type, 400 for one that is not of its type.

    ``find`` looks for what is to be patched, and raises if there is none: JSON is read before, what it says after.
    ``validation`` is the request's: what it ignores is not looked for.
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
    if validation != "Ignore" or kind == "strategic":
        _check_values(kind, content)
    complaints: list[str] = []
    # An object with a repeated key anywhere in it is Repeated; a list has to be searched.
    if isinstance(content, gojson.Repeated | list):
        complaints = [f"duplicate field {quote(path)}" for path in dict.fromkeys(gojson.duplicates(content))]
        content = gojson.last(content)
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


def _check_values(kind: PatchType, content: Any) -> None:
    """Check what Go finds wrong when it reads the values of a patch: wrong types, and numbers too large for a float."""
    if kind == "json" and isinstance(content, list):
        why = next((why for operation in content for why in _wrong_values(operation)), "")
    else:
        literal = gojson.too_large(content)
        why = gojson.of_float(literal) if literal is not None else ""
    if why:
        raise statuses.bad_request(why if kind == "strategic" else f"error decoding patch: {why}")


def _wrong_values(operation: Any) -> Iterator[str]:
    for key, value, _ in gojson.pairs(operation) if isinstance(operation, dict) else ():
        if key in _TEXTS and not isinstance(value, str | None):
            into = f"Go struct field jsonPatchOp.{key} of type string"
            yield f"json: cannot unmarshal {gojson.name_of(value)} into {into}"
        elif key == _VALUE and (literal := gojson.too_large(value)) is not None:
            yield gojson.of_float(literal).replace("Go value", "Go struct field jsonPatchOp.value")


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
        wrong = next((item for item in content if not isinstance(item, dict | None)), {})
        into = "handlers.jsonPatchOp"
    if not isinstance(content, list) or not isinstance(wrong, dict):
        why = f"json: cannot unmarshal {gojson.name_of(wrong)} into Go value of type {into}"
        raise statuses.bad_request(f"error decoding patch: {why}")
    if len(content) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(content)}"
        raise statuses.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def _unknown(content: list[Object]) -> Iterator[str]:
    for index, operation in enumerate(content):
        known = (*_TEXTS, _VALUE)
        yield from (f'unknown field "[{index}].{key}"' for key in operation or () if key not in known)
