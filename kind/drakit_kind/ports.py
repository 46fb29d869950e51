"""Ports of this machine's loopback, chosen before a server is started, so that a restart keeps them."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_GIVEN_TO_ANYBODY = Path("/proc/sys/net/ipv4/ip_local_port_range")  # see ip(7)
_OURS = range(10_000, 30_000)  # below Kubernetes' NodePorts
_TRIES = 100


def free_port() -> int:
    """A port of 127.0.0.1 that is free now.

    Until it is used, which may be a second later, the kernel gives it to nobody who asks for any port, if possible.
    """
    lowest, highest = map(int, _GIVEN_TO_ANYBODY.read_text().split())
    ours = [port for port in _OURS if not lowest <= port <= highest]
    tries = (secrets.choice(ours) for _ in range(_TRIES if ours else 0))
    return next((port for port in tries if _bound(port)), None) or _bound(0)


def _bound(port: int) -> int:
    """The port that can be bound, for 0 any; 0 if it cannot be."""
    with socket.socket() as probe:
        # Connections that have ended hold a port for a minute, which servers do not mind.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
        got: int = probe.getsockname()[1]
        return got
