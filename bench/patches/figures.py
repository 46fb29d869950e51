"""What a process with a patched cluster tells, as JSON."""

from __future__ import annotations

import msgspec

# Which devices the patch that changes is about.
CHANGES = ("one device", "one pool", "every eighth device", "every device")


class Started(msgspec.Struct):
    """CPU seconds to take in patches and slices and to look at all nodes, then CPU milliseconds of the first pods.

    ``mebibytes``: growth of memory until then, every node having been asked for each kind of pod.
    """

    seconds: float
    first: float
    mebibytes: float
    faults: list[str]


class Change(msgspec.Struct):
    """CPU milliseconds from a patch that changed until the next decision, and until all nodes have been looked at."""

    decided: float
    all_nodes: float
