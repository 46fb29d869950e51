"""What a long-running component and whoever started it owe each other.

The component says once that it is ready, in the way systemd defined (sd_notify), so that nobody guesses from log lines
or polls ports. It ends when it is told to. And if its starter wants that, it does not outlive it: a test run that is
killed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket

TIED_VARIABLE = "DRAKIT_TIED"


def announce_ready() -> None:
    """Send ``READY=1`` to ``$NOTIFY_SOCKET``, once; nothing happens where nobody waits."""
    _notify(os.environ.pop("NOTIFY_SOCKET", ""), "READY=1")


def announce_progress(text: str) -> None:
    """Tell whoever waits for ``announce_ready`` what has been reached by now (``STATUS=``)."""
    _notify(os.environ.get("NOTIFY_SOCKET", ""), f"STATUS={text}")


def announce_failure(text: str) -> None:
    """Tell whoever waits for ``announce_ready`` why that will not come (``ERROR=``, which systemd does not know)."""
    _notify(os.environ.get("NOTIFY_SOCKET", ""), f"ERROR={text}")


def _notify(address: str, message: str) -> None:
    if not address:
        return
    # A leading @ stands for the NUL of an abstract socket.
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        notifier.sendto(message.encode(), target)


def told_to_stop() -> asyncio.Event:
    """Set at SIGINT and SIGTERM, and when the process that started this one ends, if it asked for that.

    It asks with ``DRAKIT_TIED=1``; standard input is then a pipe from it, into which nothing is ever written.
    """
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)

    def parent_ended() -> None:
        loop.remove_reader(0)
        stopping.set()

    if os.environ.pop(TIED_VARIABLE, ""):
        loop.add_reader(0, parent_ended)
    return stopping
