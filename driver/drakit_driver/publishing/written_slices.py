"""The publisher's own writes, until its watch has seen them.

Between a create and its watch event the local copy lacks the new slice; a sync in that moment would create it twice.
So writes are laid over the watched copy until the watch catches up, as client-go's MutationCache does for upstream's
slice controller.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_client.reflector import Key, key_of


@dataclass(frozen=True, slots=True)
class _Write:
    slice_: Any  # in the version that the server has
    deleted: bool
    until: float


class WrittenSlices:
    """Writes that no watch event has confirmed yet; each is forgotten after ``seconds`` at the latest.

    Forgetting matters when the watch never shows a write, because the slice was deleted before the next list.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._writes: dict[Key, _Write] = {}

    def stored(self, slice_: ReadOnlyObject) -> None:
        """Note that the server answered a create or update with ``slice_``."""
        self._writes[key_of(slice_)] = _Write(slice_, deleted=False, until=time.monotonic() + self._seconds)

    def deleted(self, slice_: ReadOnlyObject) -> None:
        """Note that the server deleted ``slice_``."""
        self._writes[key_of(slice_)] = _Write(slice_, deleted=True, until=time.monotonic() + self._seconds)

    def seen(self, old: ReadOnlyObject | None, new: ReadOnlyObject | None) -> bool:
        """Take note of a watch event; whether it only confirms (or precedes) a write of ours."""
        current = new or old
        if current is None:
            return True
        write = self._writes.get(key_of(current))
        if write is None:
            return False
        if new is None:
            del self._writes[key_of(current)]
            return write.deleted
        if write.deleted:
            return uid(new) == uid(write.slice_)
        if not _at_least(new, write.slice_):
            return True
        del self._writes[key_of(current)]
        return version(new) == version(write.slice_)

    def over(self, store: Mapping[Key, Any]) -> Iterator[Any]:
        """Yield the watched slices as they are after our writes."""
        now = time.monotonic()
        for key in [key for key, write in self._writes.items() if write.until <= now]:
            del self._writes[key]
        for key, slice_ in store.items():
            if key not in self._writes:
                yield slice_
        yield from (write.slice_ for write in self._writes.values() if not write.deleted)


def version(slice_: ReadOnlyObject) -> str:
    """Return ``metadata.resourceVersion``."""
    return str(slice_["metadata"].get("resourceVersion", ""))


def uid(slice_: ReadOnlyObject) -> str:
    """Return ``metadata.uid``."""
    return str(slice_["metadata"].get("uid", ""))


def _at_least(slice_: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Tell whether ``slice_`` is not older: resource versions are ordered since Kubernetes 1.35 (KEP-5504)."""
    mine, theirs = version(slice_), version(other)
    if mine.isdecimal() and theirs.isdecimal():
        return int(mine) >= int(theirs)
    return mine == theirs
