"""Room for what calls itself for each level of a tree, of which there may be more than Python allows calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The limit is the whole process's: threads add to it what each of them needs, none waits for another.
_changed = threading.Lock()


@contextmanager
def deeper(calls: int) -> Iterator[None]:
    """Allow so many calls more within calls."""
    _add(calls)
    try:
        yield
    finally:
        _add(-calls)


def _add(calls: int) -> None:
    with _changed:
        sys.setrecursionlimit(sys.getrecursionlimit() + calls)
