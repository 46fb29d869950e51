"""What is served because of a definition: its kind in each version, with rules and collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.custom import strategy
from drakit_embedded.apiserver.registry.custom.versions import InVersion
from drakit_embedded.apiserver.registry.strategy import Strategy
from drakit_embedded.apiserver.scheme.definitions import Definition, Version
from drakit_embedded.apiserver.scheme.json_paths import JsonPath, PathError
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.limits import StoredKind
from drakit_embedded.apiserver.storage.store import Collection, FieldValues, Record, Store

_GENERAL = (("metadata", "name"), ("metadata", "namespace"))


class Custom(NamedTuple):
    """One version of a custom resource, as the catalog takes it."""

    kind: Kind
    strategy: Strategy
    collection: Collection
    reader: Callable[[Record], Object] | None
    # The API version of records that need no reader.
    as_stored: str | None


def declared(definition: Definition, store: Store, before: Definition | None) -> Definition:
    """Declare the collection of a definition, which was ``before`` until now; returns it with what that means.

    Watches cannot be resumed from before a change, as what they saw was of another schema.
    """
    field_values = _field_values(definition)
    collection = store.collection(definition.name, field_values)
    kind = definition.kind(definition.versions[definition.storage])
    form = StoredKind(kind.stored_under, kind.kind, kind.api_version)
    collection.describe(field_values, form, store.version if before is not None else 0)
    is_same = before is not None and _schemas(before) == _schemas(definition) and not before.has_older
    return replace(definition, has_older=bool(collection.records) and not is_same)


def of_version(definition: Definition, version: Version, store: Store) -> Custom:
    """Build one version; objects that may be of another one, or of an older schema, are read by it."""
    kind, seen = definition.kind(version), InVersion(definition, version)
    rules, collection = strategy.of(version, kind, stored_form=seen.stored_form), store.named(definition.name)
    return Custom(kind, rules, collection, seen.read if seen.differs else None, seen.as_stored)


def _schemas(definition: Definition) -> dict[str, object]:
    return {name: version.schema.source for name, version in definition.versions.items()}


def _field_values(definition: Definition) -> FieldValues:
    """Build the function that reads what field selectors can ask for, in any version."""
    names = dict.fromkeys(name for version in definition.versions.values() for name in version.selectable)
    paths = [(name, path) for name in names if (path := _path(name)) is not None]

    def values(obj: Object) -> dict[str, str]:
        meta = obj["metadata"]
        found = {f"metadata.{key}": meta[key] for _, key in _GENERAL if key in meta}
        for name, path in paths:
            results = path.find(obj)
            if results and results[0] is not None:
                found[name] = _text(results[0])
        return found

    return values


def _path(name: str) -> JsonPath | None:
    try:
        return JsonPath(f".{name}")
    except PathError:
        return None


def _text(value: Any) -> str:
    """Print a value as Go's ``fmt.Sprint`` does."""
    return str(value).lower() if isinstance(value, bool) else str(value)
