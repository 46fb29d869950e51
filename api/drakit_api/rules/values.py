"""Values of custom resources as expressions see them.

What is the same in JSON and in CEL, which nearly all is, is used as it is. The others are made when an expression comes
to them, as their schema says: times, numbers, names that are escaped, lists that are sets, fields that are null
(``k8s.io/apiserver`` v0.37 ``pkg/cel/common/valuesunstructured.go``).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import conversions
from drakit_api.cel.values.equality import equal
from drakit_api.cel.values.keys import has_key
from drakit_api.cel.values.values import Associative, Duration, Fragile, Lazy, Level, Timestamp
from drakit_api.rules.names import escaped
from drakit_api.rules.schema_types import with_metadata
from drakit_api.structural.schema import Structural
from drakit_api.structural.string_formats.times import duration

_NOT_FOR_URLS = re.compile("[^A-Za-z0-9_=-]")
# Makes a value of CEL from one of JSON that is not null.
Conversion = Callable[[Any], Any]


def holds_float(value: Any) -> bool:
    """Tell whether there is a float in a value of JSON, so that its integers have to be looked at."""
    if type(value) is dict:
        return any(map(holds_float, value.values()))
    return any(map(holds_float, value)) if type(value) is list else type(value) is float


def variable_conversion(schema: Structural, *, is_resource: bool, exact: bool = False) -> Conversion | None:
    """Return what makes the values of a schema that has rules itself; None if they are used as they are.

    ``exact`` is for values that may have floats where the schema has integers, which it takes if they are whole.
    """
    return _checked if schema.int_or_string else conversion(schema, is_resource=is_resource, exact=exact)


def _checked(value: Any) -> Any:
    if type(value) not in (int, str):
        raise CelRuntimeError("invalid data, expected XIntOrString value to be either a string or integer")
    return value


def _integer(value: Any) -> Any:
    if type(value) is float:
        raise CelRuntimeError("invalid data, expected int, got float64")
    return value


def conversion(schema: Structural, *, is_resource: bool, exact: bool) -> Conversion | None:
    """Return what makes the values of a schema; None if they are used as they are."""
    if schema.int_or_string:
        return _checked if exact else None
    match schema.type:
        case "object":
            return _object(with_metadata(schema) if is_resource else schema, is_resource=is_resource, exact=exact)
        case "array":
            return _list(schema, exact=exact)
        case "integer":
            return _integer if exact else None
        case "string":
            return _BY_FORMAT.get(schema.source.get("format") or "")
        case "number":
            return _double
    return None


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _duration(text: Any) -> Any:
    try:
        return Duration(duration(text))
    except ValueError as error:
        raise CelRuntimeError(f"Invalid duration {text}: {error}") from None


def _date(text: Any) -> Any:
    try:
        return Timestamp(int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()) * 10**9)
    except ValueError as error:
        raise CelRuntimeError(f"Invalid date formatted string {text}: {error}") from None


def _datetime(text: Any) -> Any:
    try:
        return conversions.string_to_timestamp(text)
    except CelRuntimeError as error:
        raise CelRuntimeError(f"Invalid date-time formatted string {text}: {error}") from None


def _bytes(text: Any) -> Any:
    """Decode base64 in its form for URLs, which the format ``byte`` does not ask for."""
    other = _NOT_FOR_URLS.search(text)
    try:
        if other is None:
            return base64.urlsafe_b64decode(text)
    except binascii.Error:
        pass
    place = len(text.rstrip("=")) if other is None else other.start()
    raise CelRuntimeError(f"Invalid byte formatted string {text}: illegal base64 data at input byte {place}")


def _of_text(convert: Conversion) -> Conversion:
    return lambda value: convert(value) if type(value) is str else value


_BY_FORMAT: dict[str, Conversion] = {
    "duration": _of_text(_duration),
    "date": _of_text(_date),
    "date-time": _of_text(_datetime),
    "byte": _of_text(_bytes),
}


def _list(schema: Structural, *, exact: bool) -> Conversion | None:
    convert = None
    if schema.items is not None:
        convert = conversion(schema.items, is_resource=schema.items.is_embedded, exact=exact)
    if schema.list_type in ("set", "map"):
        keys = tuple(escaped(key) or key for key in schema.list_map_keys) if schema.list_type == "map" else ()
        return lambda value: Associative(_converted(value, convert), keys)
    if convert is None:
        return None
    return lambda value: _converted(value, convert)


def _converted(value: Any, convert: Conversion | None) -> Iterable[Any]:
    if type(value) is not list:
        raise CelRuntimeError("invalid data, expected an array for the provided schema with type=array")
    if convert is None:
        return value
    try:
        return [None if each is None else convert(each) for each in value]
    except CelRuntimeError:
        return Fragile(value, convert)


def _object(schema: Structural, *, is_resource: bool, exact: bool) -> Conversion | None:
    if isinstance(schema.additional, Structural):
        return _map(schema.additional, exact=exact)
    fields = {name: _Field(name, part, exact=exact) for name, part in schema.properties.items()}
    if is_resource:  # of whose metadata only two names can be seen
        fields["metadata"].convert = _listed_fields(schema.properties["metadata"])
    elif not schema.preserves_unknown and all(each.is_plain for each in fields.values()):
        return None
    return _lazy(_ObjectLevel(fields))


def _listed_fields(schema: Structural) -> Conversion:
    return _lazy(_ObjectLevel({name: _Field(name, part, exact=False) for name, part in schema.properties.items()}))


def _lazy(level: Level) -> Conversion:
    return lambda value: Lazy(level, _mapping(value))


def _mapping(value: Any) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise CelRuntimeError("invalid data, expected a map for the provided schema with type=object")
    return value


def _map(schema: Structural, *, exact: bool) -> Conversion | None:
    convert = conversion(schema, is_resource=schema.is_embedded, exact=exact)
    if convert is None:
        return None
    return _lazy(_MapLevel(convert))


class _Field:
    """How a field is read: its name in JSON, and what makes its values."""

    __slots__ = ("convert", "is_plain", "name")

    def __init__(self, name: str, schema: Structural, *, exact: bool) -> None:
        self.name = name
        self.convert = conversion(schema, is_resource=schema.is_embedded, exact=exact)
        self.is_plain = self.convert is None and not schema.nullable and escaped(name) == name


class _ObjectLevel:
    """Objects whose fields the schema lists. A field that is null counts as one that is missing."""

    def __init__(self, fields: Mapping[str, _Field]) -> None:
        self._by_name = fields
        self._fields = {escaped(name) or name: each for name, each in fields.items()}

    def read(self, raw: Mapping[str, Any], key: str) -> Any:
        """Make the value of a field."""
        field = self._fields[key]
        value = raw[field.name]
        if value is None:
            raise KeyError(key)
        return value if field.convert is None else field.convert(value)

    def keys(self, raw: Mapping[str, Any]) -> Iterable[str]:
        """List the fields that the schema knows and that have a value."""
        return [escaped(name) or name for name, value in raw.items() if name in self._by_name and value is not None]

    def equal(self, left: Lazy, right: Any) -> bool:
        """Compare field by field. What the schema does not know is compared where both have it."""
        if len(left) != len(right):
            return False
        for name, value in left.raw.items():
            if name in self._by_name:
                if not _same_field(left, right, escaped(name) or name):
                    return False
            elif type(right) is Lazy and name in right.raw and not equal(value, right.raw[name]):
                return False
        return True


def _same_field(left: Lazy, right: Any, key: str) -> bool:
    found = _find(left, key)
    other = _find(right, key)
    if found is None or other is None:
        return found is other
    return equal(found, other)


def _find(container: Any, key: str) -> Any:
    """Return the value of a field; None if it is missing, as a field cannot be null."""
    try:
        return container[key]
    except KeyError:
        return None


class _MapLevel:
    """Maps, whose values are all of one schema."""

    def __init__(self, convert: Conversion) -> None:
        self._convert = convert

    def read(self, raw: Mapping[str, Any], key: str) -> Any:
        """Make the value of a key."""
        value = raw[key]
        return None if value is None else self._convert(value)

    def keys(self, raw: Mapping[str, Any]) -> Iterable[str]:
        """List the keys."""
        return raw

    def equal(self, left: Lazy, right: Any) -> bool:
        """Compare the values of all keys."""
        return len(left) == len(right) and all(has_key(right, key) and equal(left[key], right[key]) for key in left)
