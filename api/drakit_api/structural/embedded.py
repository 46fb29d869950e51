"""Objects of Kubernetes inside of custom resources, and metadata anywhere in them.

Where a schema says ``x-kubernetes-embedded-resource``, type and metadata are read as those of any object: unknown
fields of metadata are removed, values of the wrong type refused, and names and labels checked. Source:
``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/schema/objectmeta`` (``algorithm.go``, ``coerce.go``,
``validation.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from drakit_api import formats
from drakit_api.golang.gofloats import read_again
from drakit_api.golang.gostrings import as_marshaled
from drakit_api.objects import restoring
from drakit_api.objects import schema as schemas
from drakit_api.objects.decoding import DecodeError, decode_part
from drakit_api.objects.encoding import struct_encoder
from drakit_api.structural.schema import Structural
from drakit_api.validation import metadata
from drakit_api.validation.errors import Errors, FieldError, invalid, required

_OBJECT_META, _GO_NAME = "meta/v1.ObjectMeta", "v1.ObjectMeta"
# Yield the embedded resources below a value, each with its path.
_Search = Callable[[Any, str], Iterator[tuple[str, dict[str, Any]]]]


class CoercionError(ValueError):
    """An embedded resource whose type or metadata cannot be read; the text is that of ``error``."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


class Embedded:
    """The embedded resources of a schema, found once; ``is_root`` counts the object itself among them."""

    def __init__(self, schema: Structural, *, is_root: bool = False) -> None:
        self._search = _below(replace(schema, is_embedded=True) if is_root else schema)

    def coerce(self, obj: Any, path: str = "", *, drop_invalid: bool = False) -> list[str]:
        """Bring types and metadata in ``obj`` into order, in place; return the paths of unknown fields, sorted.

        Values of a wrong type are removed if ``drop_invalid``. Raises ``CoercionError`` otherwise.
        """
        unknown: list[str] = []
        for where, resource in self._resources(obj, path):
            _coerce_type(resource, where, drop_invalid=drop_invalid)
            if "metadata" in resource:
                unknown += _coerce_metadata(resource, where, drop_invalid=drop_invalid)
        return sorted(unknown)

    def faults(self, obj: Any, path: str = "") -> list[FieldError]:
        """Return what is wrong with types and metadata in an object."""
        return [fault for where, resource in self._resources(obj, path) for fault in _faults(resource, where)]

    def _resources(self, obj: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        return iter(()) if self._search is None else self._search(obj, path)


def read_metadata(
    value: Any, path: str = "metadata", *, drop_invalid: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Read metadata as Go does; return it as it is stored, and the paths of its unknown fields.

    Fields of a wrong type are left out if ``drop_invalid``. Raises ``DecodeError`` otherwise, with Go's words.
    """
    types = schemas.load()
    # Go writes it down before it reads it, so the keys are in order.
    ordered = _ordered(value if value is not None else {})
    try:
        meta, unknown = decode_part(types, _OBJECT_META, ordered, _GO_NAME, path)
    except DecodeError:
        if not drop_invalid or not isinstance(ordered, dict):
            raise
        meta, unknown = _readable_fields(types, ordered, path)
    return struct_encoder(_OBJECT_META)(meta), unknown


def restored(meta: dict[str, Any]) -> dict[str, Any]:
    """Return merged metadata with the numbers of its Go type; raises ``RestoreError`` as ``restoring`` does."""
    return restoring.restored(schemas.load(), _OBJECT_META, meta)


def unrestorable(meta: dict[str, Any]) -> str:
    """Say why merged metadata cannot be read as its Go type; "" if it can."""
    try:
        read_metadata(restored(meta))
    except restoring.RestoreError as error:
        return str(error)
    except DecodeError as error:
        return restoring.self_read(str(error))
    return ""


def _readable_fields(types: schemas.Schema, value: dict[str, Any], path: str) -> tuple[dict[str, Any], list[str]]:
    """Read metadata field by field, and leave out what cannot be read."""
    meta: dict[str, Any] = {}
    unknown: list[str] = []
    for key, item in value.items():
        try:
            field, odd = decode_part(types, _OBJECT_META, {key: item}, _GO_NAME, path)
        except DecodeError:
            continue
        meta |= field
        unknown += odd
    return meta, unknown


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, float):
        return read_again(value)
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _below(schema: Structural | None) -> _Search | None:
    """Make the search below a value; None if there is nothing to find."""
    if schema is None:
        return None
    of_objects, items = _below_object(schema), _below(schema.items)
    if of_objects is None and items is None:
        return None

    def find(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(value, dict) and of_objects is not None:
            yield from of_objects(value, path)
        elif isinstance(value, list) and items is not None:
            for place, item in enumerate(value):
                yield from items(item, f"{path}[{place}]")

    return find


def _below_object(schema: Structural) -> _Search | None:
    known, names, is_embedded = _below_fields(schema), frozenset(schema.properties), schema.is_embedded
    others = _below(schema.additional) if isinstance(schema.additional, Structural) else None
    if not (known or others or is_embedded):
        return None

    def find(value: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if is_embedded:
            yield path, value
        for key, item in value.items():
            if key in known:
                yield from known[key](item, _child(path, key))
            elif others is not None and key not in names:
                yield from others(item, f"{path}[{key}]")

    return find


def _below_fields(schema: Structural) -> dict[str, _Search]:
    return {key: search for key, field in schema.properties.items() if (search := _below(field)) is not None}


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _coerce_type(resource: dict[str, Any], path: str, *, drop_invalid: bool) -> None:
    for key in ("apiVersion", "kind"):
        if key in resource and not isinstance(resource[key], str):
            if not drop_invalid:
                raise CoercionError(_not_a_string(path, key, resource[key]))
            del resource[key]


def _coerce_metadata(resource: dict[str, Any], path: str, *, drop_invalid: bool) -> list[str]:
    where = _child(path, "metadata")
    try:
        resource["metadata"], unknown = read_metadata(resource["metadata"], where, drop_invalid=drop_invalid)
    except DecodeError as error:
        if drop_invalid:
            return []  # what is no object at all is left to validation
        raise CoercionError(_unreadable(where, resource["metadata"], error)) from None
    return unknown


def _faults(resource: dict[str, Any], path: str) -> Errors:
    yield from (required(_child(path, key)) for key in ("apiVersion", "kind") if key not in resource)
    if "apiVersion" in resource:
        yield from _version_faults(resource["apiVersion"], path)
    if "kind" in resource:
        yield from _kind_faults(resource["kind"], path)
    if "metadata" in resource:
        yield from _metadata_faults(resource["metadata"], _child(path, "metadata"))


def _version_faults(version: Any, path: str) -> Errors:
    where = _child(path, "apiVersion")
    if not isinstance(version, str):
        yield _not_a_string(path, "apiVersion", version)
    elif not version:
        yield invalid(where, version, "must not be empty")
    elif version.count("/") > 1:
        yield invalid(where, version, f"unexpected GroupVersion string: {version}")


def _kind_faults(kind: Any, path: str) -> Errors:
    where = _child(path, "kind")
    if not isinstance(kind, str):
        yield _not_a_string(path, "kind", kind)
    elif not kind:
        yield invalid(where, kind, "must not be empty")
    elif problems := formats.dns_1035_label(kind.lower()):
        yield invalid(where, kind, f"may have mixed case, but should otherwise match: {','.join(problems)}")


def _metadata_faults(value: Any, path: str) -> Errors:
    try:
        meta, _ = read_metadata(value)
    except DecodeError as error:
        yield _unreadable(path, value, error)
        return
    # A resource inside of another one needs no name.
    named = {**meta, "name": meta.get("name") or "fakename"}
    yield from metadata.on_create(
        named, namespaced=bool(meta.get("namespace")), name_format=formats.path_segment, path=path, any_finalizer=True
    )


def _not_a_string(path: str, key: str, value: Any) -> FieldError:
    return invalid(_child(path, key), as_marshaled(value), "must be a string")


def _unreadable(path: str, value: Any, error: DecodeError) -> FieldError:
    return invalid(path, as_marshaled(value), str(error))
