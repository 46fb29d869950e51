"""Names of ResourceSlices: the place of a slice in its pool comes first.

The allocator goes through slices by name, so the index decides which device is tried first; and a publisher finds out
by it which stored slice is which. In front, because the server cuts long prefixes off at the end. Source:
``k8s.io/dynamic-resource-allocation`` v0.37.1 ``resourceslice/resourceslicecontroller.go``.
"""

from __future__ import annotations

_INDEX_DIGITS = 5


def generate_name(index: int, count: int, driver: str, node_name: str | None) -> str:
    """Make ``00000-gpu.example.com-node-1-``, to which the server adds five random characters."""
    parts = [f"{index:0{_digits(count)}x}", driver, *([node_name] if node_name else [])]
    return "-".join(parts) + "-"


def slice_index(name: str, count: int) -> int | None:
    """Return the index in a slice's name; None if it is not the name of one of a pool's ``count`` slices."""
    digits = _digits(count)
    prefix, separator, _ = name.partition("-")
    if not separator or len(prefix) != digits or prefix.strip("0123456789abcdef"):
        return None
    index = int(prefix, 16)
    return index if index < count else None


def _digits(count: int) -> int:
    return max(_INDEX_DIGITS, len(f"{max(count - 1, 0):x}"))
