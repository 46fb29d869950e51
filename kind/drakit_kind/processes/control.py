"""How a command reaches the process of a running cluster: one JSON line each way over a private unix socket.

Restarting a component is not something that the Kubernetes API offers, so it needs a way of its own; a socket in the
cluster's 0700 directory needs no port, no token and no library.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from drakit_kind.cluster import ClusterError

log = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


async def listen(path: Path, handler: Handler) -> asyncio.Server:
    """Serve ``handler`` on ``path`` (0600); what it raises is sent back as ``{"error": text}``."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                answer = await handler(msgspec.json.decode(await reader.readline()))
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


def call(path: Path, request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
    """Send one request from another process, and wait for the answer for ``timeout`` seconds at most.

    Raises ``ClusterError`` if it failed there, or if nobody answers.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            connection.sendall(msgspec.json.encode(request) + b"\n")
            line = connection.makefile("rb").readline()
        except OSError as error:
            raise ClusterError(f"the cluster's process does not answer at {path}: {error}") from error
    if not line:
        raise ClusterError(f"the cluster's process ended while it handled {request}; see drakit.log beside {path}")
    answer: dict[str, Any] = msgspec.json.decode(line)
    if "error" in answer:
        raise ClusterError(answer["error"])
    return answer
