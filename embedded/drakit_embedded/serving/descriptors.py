"""File descriptors: a process may have more than it starts with, and connections must not take them all."""

from __future__ import annotations

import resource

# Child processes may iterate over all possible descriptors, so the limit is not raised to a million.
_ENOUGH = 65_536


def raise_limit() -> None:
    """Raise this process's soft limit to its hard limit, as programs in Go do, or as far as anybody needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connections(share: float) -> int:
    """Compute how many connections a server may hold with a share (0 to 1) of this process's descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(int((_ENOUGH if soft == resource.RLIM_INFINITY else min(soft, _ENOUGH)) * share), 1)
