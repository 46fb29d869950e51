"""Reading bodies by the Go types of their kind, as the real server does before any rule is asked.

An unknown field is refused, warned about or dropped, as the request's ``fieldValidation`` says; a wrong type is refused
in the words of Go's JSON decoder. What comes out has the right types everywhere, so that no rule needs to check them.
``structures.json`` has the types of all groups but resource.k8s.io, which ``drakit_api`` knows; ``api/schema`` prints
both.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding, restoring, schema
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import bad_request

# Kinds that every version of a group has (``AddToGroupVersion`` of apimachinery's ``pkg/apis/meta/v1/register.go``).
_OF_EVERY_VERSION = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "UpdateOptions",
        "WatchEvent",
        "Status",
    }
)
# Kinds of no group, whose apiVersion is always ``v1``.
UNVERSIONED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
_OF_YAML = "yaml: unmarshal errors:\n"


@functools.cache
def others() -> schema.Schema:
    """Load the Go types of all groups but resource.k8s.io, once."""
    return schema.Schema(resources.files(__package__).joinpath("structures.json").read_bytes())


def types_of(kind: Kind) -> tuple[schema.Schema, str]:
    """Find the table that has a kind, and the name of its Go struct there."""
    return types_named(kind.api_version, kind.kind)


def types_named(api_version: str, kind: str) -> tuple[schema.Schema, str]:
    """Find the table that has a kind of this name, and the name of its Go struct there.

    Raises:
        LookupError: if there is no such kind.
    """
    group, _, version = api_version.rpartition("/")
    if group == schema.GROUP:
        return schema.load(), schema.struct_of(kind, version)
    return others(), others().kinds[api_version][kind]


def is_registered(kind: str, api_version: str) -> bool:
    """Check whether ``api_version`` has a type of this name, whether it is served or not."""
    if api_version == "v1" and (kind == "List" or kind in UNVERSIONED):
        return True
    group, _, version = api_version.rpartition("/")
    ours = group == schema.GROUP
    kinds = schema.load().kinds.get(version, {}) if ours else others().kinds.get(api_version, {})
    return bool(kinds) and (kind in kinds or kind in _OF_EVERY_VERSION or kind.removesuffix("List") in kinds)


def decode(obj: Object, kind: Kind, validation: str) -> tuple[Object, list[str]]:
    """Decode an object by the Go types of its kind.

    Returns the object and the warnings for what strict decoding refuses.

    Raises:
        StatusError: 400 for a malformed object, and if ``validation`` is ``Strict`` for what strict decoding refuses.
    """
    decoded, complaints = read(obj, kind)
    return decoded, judged(complaints, kind, validation)


def read(obj: Object, kind: Kind) -> tuple[Object, tuple[str, ...]]:
    """Decode an object by the Go types of its kind; also returns what strict decoding refuses.

    Raises:
        StatusError: 400 for a malformed object.
    """
    try:
        return _decode(obj, kind, strict=True), ()
    except decoding.DecodeError as error:
        if not error.strict:
            raise bad_request(str(error)) from None
        complaints = error.strict
    return _decode(obj, kind, strict=False), complaints


def judged(complaints: Sequence[str], kind: Kind, validation: str) -> list[str]:
    """Return the warnings for what strict decoding refuses.

    Raises:
        StatusError: 400 if ``validation`` is ``Strict`` and there is anything.
    """
    if complaints and validation == "Strict":
        prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise bad_request(f"{prefix}: strict decoding error: {', '.join(complaints)}")
    return [line for text in complaints for line in lines(text)] if validation != "Ignore" else []


def restored(obj: Object, kind: Kind) -> Object:
    """Return a merged object with the numbers that its Go types would have; the given one is not changed.

    Raises:
        RestoreError: for a value of a wrong type.
    """
    return restoring.restored(*types_of(kind), obj)


def decode_options(obj: Object, kind: str) -> Object:
    """Decode options of a request, of which only wrong types are refused, with 400 in Go's words."""
    try:
        return decoding.decode_struct(others(), f"meta/v1.{kind}", obj, kind=kind, version="v1", strict=False)
    except decoding.DecodeError as error:
        raise bad_request(str(error).partition(f" as a {kind}: ")[2]) from None


def lines(complaint: str) -> list[str]:
    """Split the complaints of a YAML reader, which are one text, into lines (parseYAMLWarnings)."""
    if not complaint.startswith(_OF_YAML):
        return [complaint]
    return [line.strip() for line in complaint.removeprefix(_OF_YAML).split("\n")]


def _decode(obj: Object, kind: Kind, *, strict: bool) -> Object:
    types, struct = types_of(kind)
    return decoding.decode_struct(types, struct, obj, kind=kind.kind, version=kind.version, strict=strict)
