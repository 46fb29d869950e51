"""What a long-running component and whoever started it owe each other.

The component says once that it is ready, in the way systemd defined (sd_notify), so that nobody guesses from log lines
or polls ports. And if its starter wants that, it does not outlive it: a test run that is killed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

TIED_VARIABLE = "DRAKIT_TIED"


def announce_ready() -> None:
    """Send ``READY=1`` to ``$NOTIFY_SOCKET``, once; nothing happens where nobody waits."""
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    # A leading @ stands for the NUL of an abstract socket.
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.sendto(b"READY=1", target)


def stop_with_parent(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Call ``stop`` when the process that started this one ends, however it ends, if it asked for that.

    It asks with ``DRAKIT_TIED=1``; standard input is then a pipe from it, into which nothing is ever written.
    """
    if not os.environ.pop(TIED_VARIABLE, ""):
        return

    def ended() -> None:
        loop.remove_reader(0)
        stop()

    loop.add_reader(0, ended)
