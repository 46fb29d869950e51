"""How a command reaches a process that runs: one JSON line each way over a private unix socket.

What the Kubernetes API does not offer (to restart a component, to let a device fail) needs a way of its own; a socket
in a 0700 directory needs no port, no token and no library.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

log = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[dict[str, Any]]]


class ControlError(Exception):
    """What was asked for has failed, there or on the way; the message is for the user."""


class NobodyListens(ControlError):
    """There is no such socket, or one that a killed process has left."""


class Refusal(Exception):
    """Raised by a handler for what its caller did wrong, and nobody else needs to hear of."""


async def listen(path: Path, handler: Handler) -> asyncio.Server:
    """Serve ``handler`` on ``path`` (0600); what it raises is sent back as ``{"error": text}``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                answer = await handler(msgspec.json.decode(await reader.readline()))
            except Refusal as refusal:
                answer = {"error": str(refusal)}
            except Exception as error:  # whatever went wrong belongs to the caller, not to this process
                log.exception("control request failed")
                answer = {"error": str(error) or type(error).__name__}
            writer.write(msgspec.json.encode(answer) + b"\n")
            await writer.drain()
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(serve, str(path))
    path.chmod(0o600)
    return server


def call(path: Path, request: dict[str, Any], *, who: str, timeout: float) -> dict[str, Any]:
    """Send one request to another process, and wait for the answer for ``timeout`` seconds at most.

    ``who`` is that process, in errors. Raises ``ControlError`` if it failed there or did not answer, and of these
    ``NobodyListens`` if it does not run.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            connection.sendall(msgspec.json.encode(request) + b"\n")
            line = connection.makefile("rb").readline()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NobodyListens(f"{who} does not run: nobody listens at {path}: {error.strerror}") from error
        except OSError as error:
            raise ControlError(f"{who} does not answer at {path}: {error}") from error
    if not line:
        raise ControlError(f"{who} ended while it handled {request}; see its log")
    answer: dict[str, Any] = msgspec.json.decode(line)
    if "error" in answer:
        raise ControlError(answer["error"])
    return answer
