"""Reading the schema of a version as Go does: unknown fields are removed and told of, wrong types refused.

``items``, ``additionalProperties`` and some others decode themselves, and their decoder is not told to be strict: what
is unknown below them goes without a word, and a wrong type ends decoding at once. Source:
``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/v1/marshal.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from drakit_api.golang.gofloats import read_again
from drakit_api.golang.gojson import Repeated, name_of, of_float, pairs, single, too_large
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.decoding import DecodeError
from drakit_embedded.apiserver.registry.definitions.schema_fields import (
    DOCUMENTATION_FIELDS,
    FIELDS,
    RULE_FIELDS,
    Field,
)

# Deeper schemas and defaults are refused: those of real definitions have not half as many levels.
DEEPEST: Final = 100
_STRUCTS: Mapping[str, Mapping[str, Field]] = {
    "JSONSchemaProps": {field.name: field for field in FIELDS},
    "ValidationRule": {field.name: field for field in RULE_FIELDS},
    "ExternalDocumentation": {field.name: field for field in DOCUMENTATION_FIELDS},
}
# What keeps its value if a null follows, unless it is a pointer.
_KEPT_BY_NULL = ("string", "bool", "int64", "float64")
# Dependencies are refused even if there are none.
_EVEN_EMPTY = ("schema or list", "named schemas or strings")
# What is read into what was there before, if it is said a second time, and the lists of such.
_FILLED = ("named", "schema", "documentation")
_FILLED_ITEMS = ("schemas", "rules")
_SCHEMA, _RULE = "JSONSchemaProps", "ValidationRule"
_INT64 = range(-(2**63), 2**63)


class TooDeepError(ValueError):
    """A schema of more levels than are accepted."""

    def __init__(self) -> None:
        super().__init__(f"a schema, or a value in it, has more than {DEEPEST} levels")


class _Place(NamedTuple):
    """Where a value stands: in which Go struct, its path with places in lists, and the one without, and how deep."""

    struct: str
    path: str
    stack: str
    depth: int = 0

    def field(self, name: str) -> _Place:
        return self._replace(path=f"{self.path}.{name}", stack=f"{self.stack}.{name}")

    def item(self, at: str) -> _Place:
        return self._replace(path=self.path + at)


class SchemaReader:
    """Reads one schema; ``path`` is where it stands, and ``stack`` the same without places in lists.

    Of what is unknown or repeated, ``complaints`` has the kind and the path; ``wrong_type`` is about the first such,
    and ``unconvertible`` about the first value of any type that is none in Go, as is found once all else is read.
    At the root, empty lists and maps are kept if that ``keeps_empty``, as they are more than nothing in Go.
    """

    def __init__(self, path: str, stack: str, *, keeps_empty: bool = False) -> None:
        self.complaints: list[tuple[str, str]] = []
        self.wrong_type: str | None = None
        self.unconvertible: str | None = None
        self._place = _Place("CustomResourceValidation", path, stack)
        self._keeps_empty = keeps_empty
        # How many of the decoders around are not strict.
        self._lenient = 0

    def read(self, value: Any) -> Object:
        """Read a schema, in the form in which it is stored. Raises ``DecodeError`` and ``TooDeepError``."""
        return self._struct(value, _SCHEMA, self._place)

    def _struct(self, value: Any, struct: str, place: _Place) -> Object:
        if not isinstance(value, dict):
            self._wrong(value, place, f"v1.{struct}")
            return {}
        if place.depth > DEEPEST:
            raise TooDeepError
        fields = _STRUCTS[struct]
        read: Object = {}
        said: Object = {}
        place = place._replace(struct=struct, depth=place.depth + 1)
        for key, item, again in pairs(value):
            field = fields.get(key)
            if not self._lenient and (field is None or again):
                self.complaints.append(("unknown" if field is None else "duplicate", f"{place.path}.{key}"))
            if field is not None and again and (field.pointer or field.shape not in _KEPT_BY_NULL):
                read.pop(key, None)
            if field is not None and item is not None:
                found = self._value(item, field, place.field(key))
                if said.get(key) is not None:
                    item, found = self._filled(said[key], item, field, place.field(key))
                # Only pointers to nothing differ from nothing; items of no schema are written as null.
                is_kept = (field.pointer and found is not None) or field.shape in _EVEN_EMPTY
                if found or is_kept or (self._keeps_empty and place.depth == 1 and found in ([], {})):
                    read[key] = found
            said[key] = item
        # Of all fields, only this is written even if it is empty.
        return {"rule": "", **read} if struct == _RULE else read

    def _filled(self, before: Any, item: Any, field: Field, place: _Place) -> tuple[Any, Any]:
        """Read a value into one that was there before, as Go does: structs keep what is not said again.

        Returns the value that is then said, and what it reads as. All that is wrong about it has been told of.
        """
        item, complaints = _filled(field, before, item), list(self.complaints)
        found = self._value(item, field, place)
        self.complaints = complaints
        return item, found

    def _value(self, item: Any, field: Field, place: _Place) -> Any:
        reader = _READERS.get(field.shape)
        return self._scalar(item, field, place) if reader is None else reader(self, item, field, place)

    def _scalar(self, item: Any, field: Field, place: _Place) -> Any:
        if field.shape == "float64" and isinstance(item, int | float) and not isinstance(item, bool):
            return self._wrong(item, place, "float64") if too_large(item) else read_again(float(item))
        if type(item) is _PYTHON.get(field.shape) and (field.shape != "int64" or item in _INT64):
            return item
        return self._wrong(item, place, field.go_type)

    def _wrong(self, item: Any, place: _Place, go_type: str) -> None:
        found = name_of(item)
        if found == "number" and go_type in ("int64", "float64"):
            found = f"number {too_large(item) or item}"
        # What decodes itself names the struct that it stands in.
        struct = _SCHEMA if self._lenient else place.struct
        text = f"json: cannot unmarshal {found} into Go struct field {struct}.{place.stack} of type {go_type}"
        if self._lenient:
            raise DecodeError(text)
        self.wrong_type = self.wrong_type or text

    def _json(self, item: Any, field: Field, place: _Place) -> Any:
        _check_depth(item, DEEPEST - place.depth)
        if (literal := too_large(item)) is not None:
            self.unconvertible = self.unconvertible or of_float(literal)
            return None
        return _as_stored(single(item))

    def _list(self, item: Any, field: Field, place: _Place) -> Any:
        if not isinstance(item, list):
            return self._wrong(item, place, field.go_type)
        read = _ITEMS[field.shape]
        return [read(self, each, field, place.item(f"[{number}]")) for number, each in enumerate(item)]

    def _string(self, item: Any, field: Field, place: _Place) -> str:
        return "" if item is None else self._scalar(item, _STRING, place) or ""

    def _named(self, item: Any, field: Field, place: _Place) -> Any:
        if not isinstance(item, dict):
            return self._wrong(item, place, field.go_type)
        read = {}
        for key, each, again in pairs(item):
            if again and not self._lenient:
                self.complaints.append(("duplicate", f"{place.path}.{key}"))
            read[key] = self._schema(each, field, place.item(f".{key}"))
        return read

    def _schema(self, item: Any, field: Field, place: _Place) -> Object:
        """Read a schema in a list or map, of which null is an empty one."""
        return self._struct({} if item is None else item, _SCHEMA, place)

    def _rule(self, item: Any, field: Field, place: _Place) -> Object:
        return self._struct({} if item is None else item, _RULE, place)

    def _documentation(self, item: Any, field: Field, place: _Place) -> Object:
        return self._struct(item, "ExternalDocumentation", place)

    def _by_itself(self, item: Any, field: Field, place: _Place) -> Any:
        """Read what decodes itself."""
        self._lenient += 1
        read = self._either(item, field, place)
        self._lenient -= 1
        return read

    def _either(self, item: Any, field: Field, place: _Place) -> Any:
        if isinstance(item, dict):
            return self._struct(item, _SCHEMA, place)
        if field.shape == "schema or bool":
            if not isinstance(item, bool):
                raise DecodeError("boolean or JSON schema expected")
            return item
        if not isinstance(item, list):
            return None
        read = SchemaReader._schema if field.shape == "schema or list" else SchemaReader._string
        return [read(self, each, field, place) for each in item] or None

    def _dependencies(self, item: Any, field: Field, place: _Place) -> Any:
        if not isinstance(item, dict):
            return self._wrong(item, place, field.go_type)
        return {key: self._by_itself(each, field, place) for key, each, _ in pairs(item)}


_PYTHON: Mapping[str, type] = {"string": str, "bool": bool, "int64": int}
_STRING = Field("", "", "string", "string")
_Reader = Callable[[SchemaReader, Any, Field, _Place], Any]
_ITEMS: Mapping[str, _Reader] = {
    "jsons": SchemaReader._json,
    "strings": SchemaReader._string,
    "rules": SchemaReader._rule,
    "schemas": SchemaReader._schema,
}
_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(_ITEMS, SchemaReader._list),
    "json": SchemaReader._json,
    "documentation": SchemaReader._documentation,
    "schema": SchemaReader._schema,
    "named": SchemaReader._named,
    "schema or list": SchemaReader._by_itself,
    "schema or bool": SchemaReader._by_itself,
    "named schemas or strings": SchemaReader._dependencies,
}


def _filled(field: Field, before: Any, item: Any) -> Any:
    if field.shape in _FILLED:
        return _both(before, item)
    if field.shape in _FILLED_ITEMS and isinstance(before, list) and isinstance(item, list):
        return [old if new is None else _both(old, new) for old, new in zip(before, item, strict=False)] + item[
            len(before) :
        ]
    return item


def _both(before: Any, item: Any) -> Any:
    if not isinstance(before, dict) or not isinstance(item, dict):
        return item
    return Repeated([(key, each) for part in (before, item) for key, each, _ in pairs(part)])


def _check_depth(value: Any, most: int) -> None:
    waiting = [(value, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > most:
            raise TooDeepError
        if isinstance(value, dict):
            waiting += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list):
            waiting += [(item, depth + 1) for item in value]


def _as_stored(value: Any) -> Any:
    """Return a value as Go reads and prints it: a whole number without a point, no number of more than 64 bits."""
    if isinstance(value, dict):
        return {key: _as_stored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_stored(item) for item in value]
    if isinstance(value, float) or (type(value) is int and value not in _INT64):
        return read_again(float(value))
    return value
