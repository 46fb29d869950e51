"""Telling whoever started this process that it is ready, in the way systemd defined (sd_notify).

Every long-running drakit component says it once; under systemd, or under drakit's own cluster, the starter then need
not guess from log lines or poll ports.
"""

from __future__ import annotations

import os
import socket


def announce_ready() -> None:
    """Send ``READY=1`` to ``$NOTIFY_SOCKET``, once; nothing happens where nobody waits."""
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    # A leading @ stands for the NUL of an abstract socket.
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.sendto(b"READY=1", target)
