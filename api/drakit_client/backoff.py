"""How long to wait before what has failed is tried again: twice as long each time, up to a limit.

As ``wait.Backoff`` of ``k8s.io/apimachinery`` ``pkg/util/wait`` with a factor of 2 and a cap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

# A request may fail for weeks; a larger power of two would overflow a float.
_MOST_DOUBLINGS = 62


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait: ``initial`` after a first failure, doubled with each further one, at most ``longest``."""

    initial: float
    longest: float

    def seconds(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row; nothing after none."""
        return min(self.initial * 2 ** min(failures - 1, _MOST_DOUBLINGS), self.longest) if failures else 0.0

    def pauses(self) -> Iterator[float]:
        """Yield the seconds to wait after the first failure, the second, and so on without an end."""
        return (self.seconds(failures) for failures in count(1))
