"""PATCH in its four types, each turning the stored object into the wanted one; the write itself is an update.

After k8s.io/apiserver/pkg/endpoints/handlers/patch.go. A patch is applied to the object in the version of the path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import formatted, quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch, raw_extensions, restoring
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.strategy import Restore
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Key
from drakit_embedded.apiserver.wire import bodies, budget
from drakit_embedded.apiserver.writing import merge_keys, printed, strategic
from drakit_embedded.apiserver.writing.patch_bodies import Patch
from drakit_embedded.apiserver.writing.writes import Change

_STRICT = "strict decoding error: "


class Reader(NamedTuple):
    """How to decode the result of a patch: the function, ``fieldValidation``, and the list that takes warnings.

    ``restore`` is the strategy's.
    """

    incoming: Change
    validation: str
    warnings: list[str]
    restore: Restore = structures.restored
    # Whether upstream has an internal type of the kind, as which it reads what does not say its version.
    has_internal_type: bool = False


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
    """Check that something is left, which may yet be no object."""
    if value is None:
        raise statuses.rejected()
    found: Object = value
    return found


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
        return read(kind, key, patch, plain(typed, patch, node), reader)

    return patched


def read(kind: Kind, key: Key, patch: Patch, found: Any, reader: Reader) -> Object:
    """Read what a patch has made of an object, like a body.

    Raises:
        StatusError: 422 if it cannot be read, 400 if it has no name, 500 if a custom resource has no apiVersion.
    """
    _check_type(kind, patch, found)
    if patch.type == "strategic":
        # Upstream merges into a Go type, so a patch cannot change the kind.
        found |= {"kind": kind.kind, "apiVersion": kind.api_version}
        found = _restored(kind, patch, found, reader.restore)
        raw_extensions.print_sorted(found)
    else:
        raw_extensions.print_anew(found)
    has_version = found.get("apiVersion") not in (None, *bodies.NO_VERSIONS)
    if reader.has_internal_type and not has_version:
        made = _untyped(kind, patch, found, reader)
    else:
        made = _read(kind, patch, found, reader)
    if not made["metadata"].get("name"):
        raise statuses.nameless(key[1])
    if kind.definition is not None and not has_version:
        raise statuses.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    return made


def _restored(kind: Kind, patch: Patch, found: Object, restore: Restore) -> Object:
    try:
        return restore(found, kind)
    except restoring.RestoreError as error:
        raise unreadable(kind, patch, found, str(error)) from None


def _read(kind: Kind, patch: Patch, found: Object, reader: Reader) -> Object:
    refused = list(patch.complaints) if reader.validation == "Strict" else []
    if reader.validation not in ("Strict", "Ignore"):
        reader.warnings.extend(patch.complaints)
    shown = dict(found)
    try:
        made = reader.incoming(found)
    except statuses.StatusError as error:
        raise _converted(error, kind, patch, shown, refused) from None
    if refused:
        raise unreadable(kind, patch, shown, _STRICT + ", ".join(refused))
    return made


def _check_type(kind: Kind, patch: Patch, found: Any) -> None:
    """Check that what a patch has made says of which type it is, as a body has to."""
    why = ""
    try:
        if patch.type == "strategic":
            _restore_type(found)
        else:
            bodies.check_type(found)
    except gojson.JsonError as error:
        why = f"couldn't get version/kind; json parse error: {error}"
    except (bodies.BodyError, restoring.RestoreError) as error:
        why = str(error)
    if not why and kind.definition is not None and not found.get("kind"):
        why = f"Object 'Kind' is missing in '{_shown(kind, patch, found)}'"
    if why:
        raise unreadable(kind, patch, found, why)


def _restore_type(found: Object) -> None:
    for field in ("kind", "apiVersion"):
        if found.get(field) is not None:
            restoring.text(found[field], "string")


def _untyped(kind: Kind, patch: Patch, found: Object, reader: Reader) -> Object:
    """Read what has no apiVersion as the internal type, as upstream does, of which JSON knows no field."""
    unknown = [key for key in found if key not in ("kind", "apiVersion")]
    complaints = [*patch.complaints, *(f"unknown field {quote(key)}" for key in unknown)]
    if reader.validation == "Strict":
        raise unreadable(kind, patch, found, _STRICT + ", ".join(complaints))
    if reader.validation != "Ignore":
        reader.warnings.extend(complaints)
    return {"metadata": {}}


def _converted(
    error: statuses.StatusError, kind: Kind, patch: Patch, found: Object, complaints: Sequence[str]
) -> statuses.StatusError:
    """Turn the 400 of a body into the 422 of a patch, whose result cannot be read."""
    match = re.match(rf'.*? in version ".*?" cannot be handled as a {kind.kind}: ', error.message, re.DOTALL)
    if error.code != 400 or match is None:
        return error
    why = error.message.removeprefix(match[0])
    if complaints and why.startswith(_STRICT):
        why = _STRICT + ", ".join([*complaints, why.removeprefix(_STRICT)])
    return unreadable(kind, patch, found, why)


def unreadable(kind: Kind, patch: Patch, found: Object, why: str) -> statuses.StatusError:
    """Build the 422 for a patch whose result cannot be read."""
    if patch.type == "strategic":
        shown, why = formatted(strategic.leftover(patch.content)), restoring.self_read(why)
    else:
        shown = _shown(kind, patch, found)
    cause = statuses.Cause("FieldValueInvalid", "patch", f"Invalid value: {quote(shown)}: {why}")
    return statuses.invalid("", "", "", [cause])


def _shown(kind: Kind, patch: Patch, found: Any) -> str:
    touched = printed.of_operations(patch.content) if patch.type == "json" else patch.content
    return printed.text(found, kind, touched)
