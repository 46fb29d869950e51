"""The streams of a command: what its client sends and sees, however that travels."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object

# Input that nobody has read; the client waits with more. A real container has a pipe of 64 KiB.
_UNREAD_BYTES = 256 * 1024


class Channel(IntEnum):
    """The streams by number, as WebSockets name them."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    RESIZE = 4


class Options(NamedTuple):
    """Which streams a client wants."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Options:
        """Read them from the kubelet's query (NewOptions); a terminal has no standard error of its own.

        Raises:
            ValueError: without any.
        """
        stdin, stdout, stderr, tty = (query.get(name) == "1" for name in ("input", "output", "error", "tty"))
        if tty:
            stderr = False
        if not (stdin or stdout or stderr):
            raise ValueError("you must specify at least 1 of stdin, stdout, stderr")
        return cls(stdin, stdout, stderr, tty)


class HandshakeError(Exception):
    """A request that cannot go on in another protocol; ``response`` says why."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.text)
        self.response = response


class Outcome(NamedTuple):
    """How a command ended, or why it could not be executed."""

    code: int = 0
    command: Sequence[str] = ()
    error: str = ""


class Input:
    """What the client sends to the command, until it closes the stream."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._closed = False
        self._changed = asyncio.Condition()

    async def feed(self, piece: bytes) -> None:
        """Add to it; waits while too much is unread. Does nothing once it is closed."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._unread < _UNREAD_BYTES)
            if piece and not self._closed:
                self._pieces.append(piece)
                self._unread += len(piece)
                self._changed.notify_all()

    async def close(self) -> None:
        """End it; what was sent before can still be read."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def read(self) -> bytes:
        """Read the next piece; empty at the end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._unread > 0)
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            self._unread -= len(piece)
            self._changed.notify_all()
            return piece


class Streams(ABC):
    """The streams of one command, connected with its client."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stdin = Input()

    async def ready(self) -> None:
        """Wait until all streams are there; ``TimeoutError`` if the client does not open them."""
        return

    @abstractmethod
    async def receive(self) -> None:
        """Take what comes from the client, until it leaves."""

    @abstractmethod
    async def send(self, channel: Channel, data: bytes) -> None:
        """Send bytes on one stream; ``OSError`` if the client has left."""

    @abstractmethod
    async def end(self, outcome: Outcome) -> None:
        """Tell the client how the command ended; its connection can be closed then."""

    async def close(self) -> None:
        """Close the connection, if ``end`` has not."""
        return

    async def out(self, data: bytes) -> None:
        """Send what the command prints; nothing if the client does not want it."""
        if data and self.options.stdout:
            await self.send(Channel.STDOUT, data)

    async def error(self, data: bytes) -> None:
        """Send what the command prints as errors: of a terminal, where all output goes."""
        if data and self.options.tty:
            await self.out(data)
        elif data and self.options.stderr:
            await self.send(Channel.STDERR, data)


def told(outcome: Outcome, *, versioned: bool, translated: bool = False) -> bytes:
    """Encode an outcome for the error stream (ServeExec; streamtranslator.go of k8s.io/apiserver if ``translated``).

    Before version 4 of the protocol (not ``versioned``) it is only the message of a failure.
    """
    if outcome.error:
        message = f"Internal error occurred: {outcome.error}"
        status: Object = {"status": "Failure", "message": message, "reason": "InternalError", "code": 500}
    elif outcome.code:
        # The second words are client-go's where its error is passed on, and containerd's otherwise.
        theirs = f"error executing command [{' '.join(outcome.command)}], exit code {outcome.code}"
        why = f"command terminated with exit code {outcome.code}" if translated else theirs
        status = {
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: {why}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(outcome.code)}]},
        }
    else:
        status = {"status": "Success"}
    if versioned:
        return msgspec.json.encode({"metadata": {}, **status} if translated else status)
    return b"" if status["status"] == "Success" else str(status["message"]).encode()
