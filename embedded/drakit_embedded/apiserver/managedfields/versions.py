"""The same object in another API version of its kind, for entries that were recorded in that version.

k8s.io/apimachinery/pkg/util/managedfields/internal/versionconverter.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.raw_extensions import print_sorted
from drakit_embedded.apiserver.managedfields import fieldsets, shapes
from drakit_embedded.apiserver.managedfields.comparisons import Comparison, compare
from drakit_embedded.apiserver.managedfields.completion import completed
from drakit_embedded.apiserver.managedfields.fieldsets import Tree
from drakit_embedded.apiserver.registry import conversion
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind


class UnknownVersion(LookupError):
    """The kind does not exist in this version (any more)."""


def converter(kind: Kind, api_version: str) -> conversion.Converter | None:
    """Find the converter from stored objects to a version of their kind; None if both are the same.

    Raises:
        UnknownVersion: if the kind does not exist in it.
    """
    if kind.definition is None:
        return _converter(kind, api_version)
    _check_known(kind, api_version)
    return None


@lru_cache(maxsize=1024)
def _converter(kind: Kind, api_version: str) -> conversion.Converter | None:
    _check_known(kind, api_version)
    return conversion.between(in_version(kind, api_version))


def _check_known(kind: Kind, api_version: str) -> None:
    try:
        shapes.typed(kind, api_version)
    except LookupError:
        raise UnknownVersion(api_version) from None


def in_version(kind: Kind, api_version: str) -> Kind:
    """Copy a kind with another version of it, given as ``group/version`` or ``v1``."""
    group, _, version = api_version.rpartition("/")
    return replace(kind, group=group, version=version)


def as_plain(obj: Object, kind: Kind, api_version: str) -> Object:
    """Convert a plain object of ``kind`` to another version."""
    if api_version == kind.api_version:
        return obj
    return completed(_as_typed(obj, kind, api_version), kind, api_version)


def _as_typed(obj: Object, kind: Kind, api_version: str) -> Object:
    """Convert a plain object of ``kind`` to another version, without completing it."""
    to, own = converter(kind, api_version), conversion.between(kind)
    bare = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
    if kind.definition is not None:
        return _custom(bare, kind, api_version)
    stored, _ = structures.decode(bare, kind, "Ignore")
    stored = own.to_storage(stored) if own is not None else stored
    return to.from_storage(stored) if to is not None else stored


def _custom(obj: Object, kind: Kind, api_version: str) -> Object:
    """Convert a custom resource, without its type, to another version; that may take a program outside."""
    convert = kind.definition.converted if kind.definition is not None else None
    return obj if convert is None or not obj else convert(obj, kind.version, api_version.rpartition("/")[2])


class Difference(NamedTuple):
    """The changes of an object in one version: fields that are new or have new values; the same with removed fields."""

    changed: Tree
    touched: Tree


class Comparisons:
    """The changes of an object in each version that an entry asks for, without the fields that are reset."""

    def __init__(self, compared: Callable[[str], Comparison], reset: Tree) -> None:
        self._compared, self._reset = compared, reset
        self._found: dict[str, Difference] = {}

    def of(self, api_version: str) -> Difference:
        """Find the difference in a version, computed once.

        Raises:
            UnknownVersion: if the kind does not exist in it.
        """
        found = self._found.get(api_version)
        if found is None:
            removed, modified, added = self._compared(api_version).without(self._reset)
            changed = fieldsets.union(modified, added)
            found = self._found[api_version] = Difference(changed, fieldsets.union(changed, removed))
        return found


def of_stored(kind: Kind, old: Object, new: Object, reset: Tree) -> Comparisons:
    """Compare a stored object with the one that is to replace it."""

    def compared(api_version: str) -> Comparison:
        convert, shape = converter(kind, api_version), shapes.typed(kind, api_version)
        before, after = (convert.from_storage(obj) if convert and obj else obj for obj in (old, new))
        if api_version == kind.api_version:
            return compare(before, after, shape)
        if kind.definition is not None:
            before, after = (_custom(obj, kind, api_version) for obj in (before, after))
        else:
            # Upstream converts through JSON here, and raw extensions through maps.
            before, after = (print_sorted(completed(obj, kind, api_version)) for obj in (before, after))
        return compare(before, after, shape)

    return Comparisons(compared, reset)


def of_plain(kind: Kind, live: Object, new: Object, reset: Tree) -> Comparisons:
    """Compare an object with the result of applying, both plain and in the version of ``kind``."""

    def compared(api_version: str) -> Comparison:
        if api_version == kind.api_version:
            return compare(live, new, shapes.plain(kind, api_version))
        # Upstream converts through the Go types here.
        shape = shapes.typed(kind, api_version)
        return compare(_as_typed(live, kind, api_version), _as_typed(new, kind, api_version), shape)

    return Comparisons(compared, reset)
