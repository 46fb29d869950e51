"""The same object in another API version of its kind, for entries that were recorded in that version.

k8s.io/apimachinery/pkg/util/managedfields/internal/versionconverter.go.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from drakit_embedded.apiserver.managedfields import shapes
from drakit_embedded.apiserver.managedfields.comparisons import Comparison, compare
from drakit_embedded.apiserver.managedfields.fieldsets import Tree
from drakit_embedded.apiserver.registry import conversion
from drakit_embedded.apiserver.registry.kinds import Kind
from drakit_embedded.apiserver.statuses import Object


class UnknownVersion(LookupError):
    """The kind has no such version (any more)."""


@lru_cache(maxsize=1024)
def converter(kind: Kind, api_version: str) -> conversion.Converter | None:
    """How a kind's stored objects become those of one of its versions; None if they are the same."""
    try:
        shapes.typed(api_version, kind.kind)
    except LookupError:
        raise UnknownVersion(api_version) from None
    group, _, version = api_version.rpartition("/")
    return conversion.between(replace(kind, group=group, version=version))


class Comparisons:
    """How a stored object and what is to replace it differ, in each version that an entry asks for."""

    def __init__(self, kind: Kind, old: Object, new: Object, reset: Tree) -> None:
        self._kind, self._old, self._new, self._reset = kind, old, new, reset
        self._found: dict[str, Comparison] = {}

    def of(self, api_version: str) -> Comparison:
        """The comparison without the fields that are reset. Raises ``UnknownVersion``."""
        found = self._found.get(api_version)
        if found is None:
            found = self._found[api_version] = self._compared(api_version).without(self._reset)
        return found

    def _compared(self, api_version: str) -> Comparison:
        convert = converter(self._kind, api_version)
        old, new = self._old, self._new
        if convert is not None:
            old, new = convert.from_storage(old) if old else old, convert.from_storage(new)
        return compare(old, new, shapes.typed(api_version, self._kind.kind))
