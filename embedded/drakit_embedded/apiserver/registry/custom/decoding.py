"""From a body to a custom resource: metadata by its Go type, all else by the schema of the version.

k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/customresource_handler.go (schemaCoercingDecoder).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.structural import defaulting, pruning
from drakit_api.validation.errors import invalid
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.scheme import empties, structures
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError, bad_request

_META = "meta/v1.ObjectMeta"
# Go prints integral numbers up to here without an exponent.
_MOST_PRINTED = 1e21


def decode(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode a body with its kind and apiVersion; also returns warnings about what strict decoding refuses.

    Raises:
        StatusError: 400 for malformed metadata, for another apiVersion, and if ``validation`` is ``Strict`` for unknown
            and repeated fields; 422 for another kind.
    """
    read: Object = copied(obj)
    named = _Named(read.pop("apiVersion", None) or "", read.pop("kind", None) or "")
    complaints = _repeated(obj)
    if (given := read.get("metadata")) is not None:
        read["metadata"], found = _metadata(given, named)
        complaints += found
    else:
        read["metadata"] = {}
    complaints += (f"unknown field {quote(path)}" for path in _shaped_as(read, named, kind))
    complaints = list(dict.fromkeys(complaints))
    if complaints and validation == "Strict":
        raise named.unreadable("strict decoding error: " + ", ".join(complaints))
    warnings = [line for text in complaints for line in structures.lines(text)] if validation != "Ignore" else []
    named.check(kind, read, warnings)
    return read, warnings


class _Named(NamedTuple):
    """What a body says that it is."""

    api_version: str
    kind: str

    def unreadable(self, why: str) -> StatusError:
        version = self.api_version.rpartition("/")[2]
        return bad_request(f'{self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}')

    def check(self, kind: Kind, obj: Object, warnings: Sequence[str]) -> None:
        """Refuse what is not of a kind; the answer still has the warnings."""
        if self.api_version != kind.api_version:
            refusal = bad_request(
                f"the API version in the data ({self.api_version}) does not match the expected API version "
                f"({kind.api_version})"
            )
        elif self.kind != kind.kind:
            fault = invalid("kind", self.kind, f"must be {kind.kind}")
            refusal = statuses.invalid(self.kind, kind.group, obj["metadata"].get("name", ""), [fault])
        else:
            return
        refusal.warnings = warnings
        raise refusal


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


def _metadata(given: Any, named: _Named) -> tuple[Object, list[str]]:
    """Decode metadata by its Go type; also returns what strict decoding says of unknown fields."""
    if not isinstance(given, dict):
        raise named.unreadable(f"json: cannot unmarshal {gojson.name_of(given)} into Go value of type v1.ObjectMeta")
    types, version = structures.others(), named.api_version.rpartition("/")[2]
    complaints: list[str] = []
    try:
        decoded = decoding.decode_struct(types, _META, given, kind=named.kind, version=version, strict=True)
    except decoding.DecodeError as error:
        if not error.strict:
            raise bad_request(str(error)) from None
        complaints = [text.replace('field "', 'field "metadata.', 1) for text in error.strict]
        decoded = decoding.decode_struct(types, _META, given, kind=named.kind, version=version, strict=False)
    empties.drop(decoded, types, _META)
    return decoded, complaints


def copied(value: Any) -> Any:
    """Copy JSON, with one value a key, and numbers as Go prints them after it has read them."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if isinstance(value, dict):
        # Of a key that is there twice, the last counts.
        pairs = value.pairs if isinstance(value, gojson.Repeated) else value.items()
        return {key: copied(item) for key, item in pairs}
    if isinstance(value, list):
        return [copied(item) for item in value]
    number = float(value.text) if isinstance(value, gojson.LongNumber) else value
    return int(number) if math.isfinite(number) and number.is_integer() and abs(number) < _MOST_PRINTED else number
