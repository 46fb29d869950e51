"""From a body to a custom resource: metadata by its Go type, all else by the schema of the version.

k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/customresource_handler.go (schemaCoercingDecoder).
"""

from __future__ import annotations

import math
from typing import Any

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.structural import defaulting, pruning
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.scheme import empties, structures
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, bad_request

_META = "meta/v1.ObjectMeta"
# Go prints integral numbers up to here without an exponent.
_MOST_PRINTED = 1e21


def decode(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode a body; also returns warnings about what strict decoding refuses.

    Raises:
        StatusError: 400 for malformed metadata, and if ``validation`` is ``Strict`` for unknown and repeated fields.
    """
    assert kind.definition is not None
    complaints = [f"duplicate field {quote(path)}" for path in dict.fromkeys(gojson.duplicates(obj))]
    read: Object = copied(obj)
    if (given := obj.get("metadata")) is not None:
        read["metadata"], found = _metadata(given, kind)
        complaints += found
    elif "metadata" in read:
        read["metadata"] = {}
    complaints += (f"unknown field {quote(path)}" for path in shaped(read, kind.definition.versions[kind.version]))
    if not complaints or validation == "Ignore":
        return read, []
    if validation != "Strict":
        return read, complaints
    raise _unreadable(kind, "strict decoding error: " + ", ".join(dict.fromkeys(complaints)))


def shaped(obj: Object, version: Version) -> list[str]:
    """Give an object the shape of a version, in place: what the schema does not know goes; returns the paths of it."""
    unknown = pruning.prune(obj, version.schema, is_root=True)
    defaulting.drop_nulls(obj, version.schema)
    return unknown


def in_version(obj: Object, version: Version) -> Object:
    """Read a stored object in a version, in place: shaped, and with the defaults that it has got since."""
    shaped(obj, version)
    defaults(version).fill(obj)
    return obj


def defaults(version: Version) -> defaulting.Defaults:
    """Compile the defaults of a version's schema."""
    return defaulting.Defaults(version.schema)


def _metadata(given: Any, kind: Kind) -> tuple[Object, list[str]]:
    """Decode metadata by its Go type; also returns what strict decoding says of unknown fields."""
    types = structures.others()
    complaints: list[str] = []
    try:
        decoded = decoding.decode_struct(types, _META, given, kind=kind.kind, version=kind.version, strict=True)
    except decoding.DecodeError as error:
        if not error.strict:
            raise bad_request(str(error)) from None
        complaints = [
            text.replace('field "', 'field "metadata.', 1) for text in error.strict if "duplicate" not in text
        ]
        decoded = decoding.decode_struct(types, _META, given, kind=kind.kind, version=kind.version, strict=False)
    empties.drop(decoded, types, _META)
    return decoded, complaints


def _unreadable(kind: Kind, why: str) -> StatusError:
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def copied(value: Any) -> Any:
    """Copy JSON, with one value a key, and numbers as Go prints them after it has read them."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    number = float(value.text) if isinstance(value, gojson.LongNumber) else value
    return int(number) if math.isfinite(number) and number.is_integer() and abs(number) < _MOST_PRINTED else number
