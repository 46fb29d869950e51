"""Room for what calls itself for each level of a tree, of which there may be more than Python allows calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The limit is the whole process's: one at a time raises it.
_raised = threading.RLock()


@contextmanager
def deeper(calls: int) -> Iterator[None]:
    """Allow so many calls more within calls."""
    with _raised:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + calls)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
