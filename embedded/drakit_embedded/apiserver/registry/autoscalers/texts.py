"""JSON in annotations, as ``encoding/json`` of Go reads it into its types, and prints these.

It does not mind the case of keys, unlike the reader of bodies: ``{"TYPE": "Pods"}`` sets ``type``. Types that are
internal to Kubernetes have no names for JSON, so that there a key is the name of a field in Go.
"""

from __future__ import annotations

import functools
from typing import Any

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding, encoding
from drakit_api.objects.schema import Field, Type
from drakit_embedded.apiserver.scheme import empties, structures

# Of types that are internal, too.
_META = "meta/"


def read_list(text: str, struct: str) -> list[Object] | None:
    """Read a list of structs such as ``autoscaling/v1.MetricSpec``; None if it cannot be read."""
    try:
        found = gojson.read(text.encode())
        if not isinstance(found, list | None):
            return None
        return [_decoded(item, struct) for item in found or ()]
    except (gojson.JsonError, decoding.DecodeError):
        return None


def read_internal(text: str, struct: str) -> Object | None:
    """Read the internal twin of a struct, whose fields then have the names of the struct's; None if it cannot be."""
    try:
        return _decoded(gojson.read(text.encode()), struct, is_internal=True)
    except (gojson.JsonError, decoding.DecodeError):
        return None


def printed_list(items: list[Object], struct: str) -> str:
    """Print a list of structs."""
    encode = encoding.struct_encoder(struct, structures.others())
    return to_json([encode(item) for item in items])


def printed_internal(obj: Object, struct: str) -> str:
    """Print the internal twin of a struct."""
    return to_json(encoding.internal_encoder(struct, structures.others())(obj))


def _decoded(value: Any, struct: str, *, is_internal: bool = False) -> Object:
    """Decode a struct without what is empty; null leaves it as it is in Go, which is empty."""
    types = structures.others()
    named = {} if value is None else _renamed(value, Type("struct", "", struct=struct), is_internal)
    decoded = decoding.decode_struct(types, struct, named, kind=struct, version="", strict=False)
    empties.drop(decoded, types, struct)
    return decoded


def _renamed(value: Any, kind: Type, is_internal: bool) -> Any:
    """Give all keys the names that fields have in JSON; keys that name no field are left out."""
    if kind.shape == "struct" and isinstance(value, dict):
        names = _names(kind.struct, is_internal and not kind.struct.startswith(_META))
        found = ((names.get(key) or names.get(key.casefold()), item) for key, item, _ in gojson.pairs(value))
        return gojson.Repeated(
            [(field.name, _renamed(item, field.type, is_internal)) for field, item in found if field is not None]
        )
    if kind.item is not None and kind.shape == "list" and isinstance(value, list):
        return [_renamed(item, kind.item, is_internal) for item in value]
    return value


@functools.cache
def _names(struct: str, is_internal: bool) -> dict[str, Field]:
    """Find the fields of a struct by the keys that name them, and by these in lower case."""
    found = {(field.go if is_internal else field.name): field for field in structures.others().flat_fields(struct)}
    return {**{key.casefold(): field for key, field in found.items()}, **found}
