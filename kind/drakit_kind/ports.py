"""Ports of this machine's loopback, chosen before a server is started, so that a restart keeps them."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
