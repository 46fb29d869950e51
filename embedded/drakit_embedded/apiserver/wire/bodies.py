"""Request bodies: bytes to an object of the expected kind, or the refusal that kube-apiserver would give.

k8s.io/apimachinery/pkg/runtime/serializer decodes in this order: format, type, structure. The first two are here, the
third is in ``scheme.structures``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from drakit_api.golang import gojson, gomime
from drakit_api.golang.gostrings import quote, to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import raw_extensions
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import budget, protobuf

_JSON, _YAML = "application/json", "application/yaml"
# The Go type into which kind and apiVersion are read, as messages name it.
_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
# The source file in which the real server creates its scheme, as messages name it.
_SCHEME = "pkg/runtime/scheme.go:111"
# The group that a server of its own inside kube-apiserver serves, which knows no other one, nor is known.
_APART = "apiextensions.k8s.io"
_TYPE_FIELDS = {"kind": "kind", "apiversion": "apiVersion"}
_LONG_BYTES, _LONG_YAML_BYTES = 64 * 1024, 16 * 1024
# What an apiVersion may be that is none (ParseGroupVersion of k8s.io/apimachinery/pkg/runtime/schema).
NO_VERSIONS = ("", "/")
_SHOWN = 30  # bytes of a body in a message


Shape = TypeVar("Shape", bound=msgspec.Struct)


class BodyError(ValueError):
    """A body that is malformed, or whose type is not known."""


def parse(raw: bytes, content_type: str, kind: str, *, custom: bool = False) -> Object:
    """Parse a body into an object.

    ``kind`` is what it should be, "" if messages do not say so. A body with a key twice is a ``gojson.Repeated``. A
    ``custom`` resource has to say its kind.

    Raises:
        StatusError: 400 if the body holds no object, 415 if the format is not supported here.
    """
    media = media_type(content_type)
    if media == protobuf.MEDIA_TYPE:
        try:
            found = protobuf.decode(raw)
            budget.check(found)
        except (protobuf.ProtobufError, budget.TooDeepError) as error:
            raise _unrecognized(raw, kind, str(error)) from None
        return found
    try:
        found = _with_type(_from_json(raw) if media == _JSON else _from_yaml(raw))
    except gojson.JsonError as error:
        raise _unrecognized(raw, kind, f"couldn't get version/kind; json parse error: {error}") from None
    except BodyError as error:
        raise _unrecognized(raw, kind, str(error)) from None
    if custom:
        if not found.get("kind"):
            text = raw.decode(errors="replace") if media == _JSON else to_json(found)
            raise _unrecognized(raw, kind, f"Object 'Kind' is missing in '{text}'")
        return found
    if kind not in raw_extensions.KINDS:
        return found
    if media != _JSON:
        return raw_extensions.print_anew(found)
    raw_extensions.attach(found, raw)
    return found


@functools.lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    """Find the format of a body (NegotiateInputSerializer of k8s.io/apiserver/pkg/endpoints/handlers/negotiation).

    Raises:
        StatusError: 415 if it is not supported.
    """
    try:
        media = gomime.media_type(content_type) if content_type else _JSON
    except gomime.MediaTypeError:
        media = ""
    if media not in (_JSON, _YAML, protobuf.MEDIA_TYPE):
        raise statuses.unsupported_body()
    return media


def is_long(raw: bytes, media_type: str) -> bool:
    """Check whether it takes longer to read a body than others should wait for, some 50 ms."""
    if "yaml" not in media_type.lower():
        return len(raw) >= _LONG_BYTES
    # YAML is slow to read, and a few aliases stand for a large value.
    return len(raw) >= _LONG_YAML_BYTES or b"*" in raw


def shaped(obj: object, shape: type[Shape], what: str) -> Shape:
    """Convert a decoded value to a struct; 400 if it does not fit, with a message that ``what`` cannot be read."""
    try:
        return msgspec.convert(obj, shape)
    except msgspec.ValidationError as error:
        raise statuses.bad_request(f"{what} cannot be read: {error}") from None


def _from_json(raw: bytes) -> Any:
    value = gojson.read(raw)
    try:
        budget.check(value, raw)
    except budget.TooDeepError as error:
        raise gojson.JsonError(str(error)) from None
    return value


def _from_yaml(raw: bytes) -> Any:
    # Imported here: hardly any client sends YAML, and importing it takes a twentieth of a start.
    from drakit_embedded.apiserver.wire import yaml_bodies

    try:
        value, repeated = yaml_bodies.read(raw)
    except yaml_bodies.YamlError as error:
        raise BodyError(str(error)) from None
    if repeated and isinstance(value, dict):
        return gojson.Repeated(list(value.items()), "yaml: unmarshal errors:\n" + "\n".join(repeated))
    return value


def _with_type(value: Any) -> Object:
    check_type(value)
    found: Object = {} if value is None else value
    return found


def check_type(value: Any) -> None:
    """Check that kind and apiVersion can be read (``pkg/runtime/serializer/json/meta.go`` of apimachinery).

    Raises:
        JsonError: for what is no object, and for a field that is no text.
        BodyError: for an apiVersion that is none.
    """
    if value is None:
        return
    if not isinstance(value, dict):
        raise gojson.JsonError(f"json: cannot unmarshal {gojson.name_of(value)} into Go value of type {_META}")
    for name, found in _type_fields(value):
        if not isinstance(found, str | None):
            raise gojson.JsonError(
                f"json: cannot unmarshal {gojson.name_of(found)} into Go struct field .{name} of type string"
            )
        if name == "apiVersion" and found and found.count("/") > 1:
            raise BodyError(f"unexpected GroupVersion string: {found}")


def type_said(obj: Object) -> tuple[str, str]:
    """Return kind and apiVersion of a body; as in Go, the last one counts, and the names may be in any case."""
    said = {"kind": "", "apiVersion": ""}
    said.update((name, found) for name, found in _type_fields(obj) if found is not None)
    return said["kind"], said["apiVersion"]


def _type_fields(obj: Object) -> Iterator[tuple[str, Any]]:
    for field, found, _ in gojson.pairs(obj):
        name = _TYPE_FIELDS.get(field.lower())
        if name is not None:
            yield name, found


def _unrecognized(raw: bytes, kind: str, why: str) -> StatusError:
    if not kind:
        return statuses.bad_request(why)
    return statuses.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(raw)})"
    )


def _summary(raw: bytes) -> str:
    """Show the beginning of a body (summarizeData of k8s.io/apiserver/pkg/endpoints/handlers/rest.go)."""
    if not raw:
        return "<empty>"
    more = " ..." if len(raw) > _SHOWN else ""
    shown = raw[:_SHOWN]
    return (shown.decode(errors="replace") if raw.startswith(b"{") else shown.hex()) + more


def typed(obj: Object, kind: Kind) -> Object:
    """Check and take off ``kind`` and ``apiVersion``; a body without them is taken for what the path says."""
    said_kind, said_version = type_said(obj)
    obj.pop("kind", None)
    obj.pop("apiVersion", None)
    found_kind, found_version = said_kind or kind.kind, _with_defaults(said_version, kind)
    if (found_kind, found_version) == (kind.kind, kind.api_version):
        return obj
    group, _, version = found_version.rpartition("/")
    where = f"{found_kind} in version {quote(version)} cannot be handled as a {kind.kind}: "
    if not version:
        shown = to_json({"apiVersion": found_version, "kind": found_kind, **gojson.single(obj)})
        raise statuses.bad_request(f"{where}Object 'apiVersion' is missing in '{shown}'")
    found_version = found_version if group else version
    is_apart = (group == _APART) != (kind.group == _APART)
    if is_apart or not structures.is_registered(found_kind, found_version):
        raise statuses.bad_request(where + unregistered(found_kind, found_version))
    if found_kind != kind.kind:
        internal = kind.group.partition(".")[0] or "core"
        why = f"converting ({version}.{found_kind}) to ({internal}.{kind.kind}): unknown conversion"
        raise statuses.bad_request(where + why)
    raise statuses.bad_request(
        f"the API version in the data ({found_version}) does not match the expected API version ({kind.api_version})"
    )


def unregistered(kind: str, api_version: str) -> str:
    """Build the message for a kind that does not exist."""
    return f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme {quote(_SCHEME)}"


def _with_defaults(api_version: str, kind: Kind) -> str:
    """Complete an apiVersion that is not given by that of the path (gvkWithDefaults)."""
    group, _, version = api_version.rpartition("/")
    if not version and group in ("", kind.group):
        return kind.api_version
    return api_version
