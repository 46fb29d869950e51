"""From a body to a custom resource: metadata by its Go type, all else by the schema of the version.

k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/customresource_handler.go (schemaCoercingDecoder).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from drakit_api.golang import gofloats, gojson, gotime
from drakit_api.golang.gostrings import as_marshaled, quote, to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.structural import defaulting, embedded, pruning
from drakit_api.validation.errors import invalid
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.custom.scale_rules import misfit
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, bad_request

_SMALLEST, _GREATEST = -(2**63), 2**63 - 1


def decode(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode a body; also returns warnings about what strict decoding refuses.

    A kind or apiVersion that is another than those of ``kind`` stays in the object, for its rules to refuse.

    Raises:
        StatusError: 400 for malformed metadata, and if ``validation`` is ``Strict`` for unknown and repeated fields.
    """
    named = _named(obj, kind)
    read, unknown = _read(obj, named, lambda read: _shaped_as(read, named, kind))
    complaints = list(dict.fromkeys([*_repeated(obj), *(f"unknown field {quote(path)}" for path in unknown)]))
    if complaints and validation == "Strict":
        # By now, upstream has made it what it says that it is.
        raise named._replace(expected=named.kind).unreadable("strict decoding error: " + ", ".join(complaints))
    warnings = [line for text in complaints for line in structures.lines(text)] if validation != "Ignore" else []
    return named.kept(read, kind), warnings


def decode_applied(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode what an apply has merged: that has known fields only, and its nulls are the client's own.

    Upstream has no Go type to read it by, and comes across a time that is none where it asks for it.

    Raises:
        StatusError: 400 for malformed metadata, 422 for a time of deletion that is none.
    """
    named, meta = _named(obj, kind), obj["metadata"]
    if _fault_of_time(meta.get("creationTimestamp")):
        # Whatever is said of it is overlooked.
        obj = {**obj, "metadata": {key: value for key, value in meta.items() if key != "creationTimestamp"}}
    if why := _fault_of_time(meta.get("deletionTimestamp")):
        fault = invalid("metadata", as_marshaled(meta), why)
        raise statuses.invalid(kind.kind, kind.group, meta.get("name") or "", [fault])
    read, _ = _read(obj, named, lambda _: [])
    return named.kept(read, kind), []


def decode_changed(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode what a webhook or a policy has made of an object: all of it is checked, and what is unknown goes later."""
    named = _named(obj, kind)
    read, _ = _read(obj, named, lambda _: [])
    return named.kept(read, kind), []


def settle(obj: Object, version: Version) -> None:
    """Give such an object the shape of its version, in place, in which it is stored."""
    shaped(obj, version, drop_invalid=True)


def _fault_of_time(value: Any) -> str:
    if not isinstance(value, str | None):
        return f"json: cannot unmarshal {gojson.name_of(value)} into Go value of type string"
    try:
        if value is not None:
            gotime.canonical(value)
    except ValueError as error:
        return str(error)
    return ""


def _read(obj: Object, named: _Named, shape: Callable[[Object], list[str]]) -> tuple[Object, list[str]]:
    """Copy an object without its type, with metadata as Go reads it; also returns the paths of unknown fields."""
    try:
        read: Object = copied(obj)
        for field in ("apiVersion", "kind"):
            read.pop(field, None)
        read["metadata"], unknown = embedded.read_metadata(read.get("metadata"))
        return read, unknown + shape(read)
    except OverflowError as error:
        raise named.unreadable(str(error)) from None
    except (decoding.DecodeError, embedded.CoercionError) as error:
        raise named.unreadable(str(error)) from None


class _Named(NamedTuple):
    """What a body says that it is, and the kind that it should be of."""

    api_version: str
    kind: str
    expected: str

    def unreadable(self, why: str) -> StatusError:
        version = quote(self.api_version.rpartition("/")[2])
        return bad_request(f"{self.kind} in version {version} cannot be handled as a {self.expected}: {why}")

    def kept(self, obj: Object, kind: Kind) -> Object:
        """Put back what is wrong about the type."""
        if self.api_version != kind.api_version:
            obj["apiVersion"] = self.api_version
        if self.kind != kind.kind:
            obj["kind"] = self.kind
        return obj


def _named(obj: Object, kind: Kind) -> _Named:
    """Read what an object says that it is; a patch may have made it say what is no text."""
    version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
    if not isinstance(name, str):
        why = f"Object 'Kind' is missing in '{to_json(gojson.single(obj))}'"
        raise _Named("", kind.kind, kind.kind).unreadable(why)
    if not isinstance(obj.get("apiVersion", ""), str):
        raise _Named("", name, kind.kind).unreadable(misfit(("apiVersion",), obj["apiVersion"], "string"))
    return _Named(version, name, kind.kind)


def _repeated(obj: Object) -> list[str]:
    if not isinstance(obj, gojson.Repeated):
        return []
    found = [f"duplicate field {quote(path)}" for path in dict.fromkeys(gojson.duplicates(obj))]
    return [obj.complaint] if obj.complaint else found


def _shaped_as(obj: Object, named: _Named, kind: Kind) -> list[str]:
    """Shape an object as what it says that it is: by the schema of its version, or by none if there is none."""
    assert kind.definition is not None
    group, _, version = named.api_version.rpartition("/")
    if (group, named.kind) != (kind.group, kind.kind):
        return []
    known = kind.definition.versions.get(version)
    if known is not None:
        return shaped(obj, known)
    unknown = [key for key in obj if key != "metadata"]
    for key in unknown:
        del obj[key]
    return unknown


def shaped(obj: Object, version: Version, *, drop_invalid: bool = False) -> list[str]:
    """Give an object the shape of a version, in place: what the schema does not know goes; returns the paths of it.

    Raises:
        CoercionError: for malformed metadata of an embedded resource, which goes, too, if ``drop_invalid``.
    """
    unknown = pruning.prune(obj, version.schema, is_root=True)
    defaulting.drop_nulls(obj, version.schema)
    return unknown + embedded_resources(version).coerce(obj, drop_invalid=drop_invalid)


def in_version(obj: Object, version: Version) -> Object:
    """Read a stored object in a version, in place: shaped, and with the defaults that it has got since."""
    shaped(obj, version, drop_invalid=True)
    defaults(version).fill(obj)
    return obj


def defaults(version: Version) -> defaulting.Defaults:
    """Compile the defaults of a version's schema, once."""
    found: defaulting.Defaults = version.compiled("defaults", defaulting.Defaults)
    return found


def embedded_resources(version: Version) -> embedded.Embedded:
    """Find where a version's schema has embedded resources, once."""
    found: embedded.Embedded = version.compiled("embedded resources", embedded.Embedded)
    return found


def copied(value: Any) -> Any:
    """Copy JSON as Go reads it: the last value of a key counts, and integers are of 64 bits or become floats.

    Raises:
        OverflowError: for a number that is too large for a float, in Go's words.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, gojson.Repeated) else value.items()
        return {key: copied(item) for key, item in pairs}
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, int) and _SMALLEST <= value <= _GREATEST:
        return value
    if (literal := gojson.too_large(value)) is not None:
        raise OverflowError(gojson.of_float(literal))
    return float(value)


def printed(value: Any) -> Any:
    """Give numbers the form in which Go prints them: floats without a fraction are integers when they are read again.

    A value that has no floats is returned as it is.
    """
    if isinstance(value, float):
        return gofloats.read_again(value)
    if isinstance(value, dict):
        changed = {key: item for key, old in value.items() if (item := printed(old)) is not old}
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        items = [printed(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
