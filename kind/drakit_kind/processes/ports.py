"""Ports of this machine's loopback, chosen before a server is started, so that a restart keeps them."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_GIVEN_TO_ANYBODY = Path("/proc/sys/net/ipv4/ip_local_port_range")  # see ip(7)
_OURS = range(10_000, 30_000)  # below Kubernetes' NodePorts
_TRIES = 100


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now.

    If possible it is one that the kernel gives to nobody who asks for any port, as it may be used only a second later.
    """
    lowest, highest = map(int, _GIVEN_TO_ANYBODY.read_text().split())
    tries = (secrets.choice(_OURS) for _ in range(_TRIES))
    return next((port for port in tries if not lowest <= port <= highest and _bound(port)), None) or _bound(0)


def _bound(port: int) -> int:
    """Try to bind a port (0: any), and return its number; 0 if that fails."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
        got: int = probe.getsockname()[1]
        return got
