"""A terminal between a command and its client: lines are edited and echoed, as Linux's own line discipline does it.

kubectl's own terminal passes every key on (``kubectl exec -it``), so what is typed is seen only if it is sent back.
"""

from __future__ import annotations

import asyncio

from drakit_embedded.kubelet.streaming.streams import Input, Streams

_INTERRUPT, _END, _RETURN, _LINE = 0x03, 0x04, 0x0D, 0x0A
_ERASE = (0x08, 0x7F)


class Terminal:
    """What a command reads line by line, and writes with carriage returns; ``type`` must run for input to come."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._lines = Input()
        self._line = bytearray()
        # Somebody has pressed Ctrl-C.
        self.interrupted = asyncio.Event()

    async def read(self) -> bytes:
        """Read a line, or what stood before Ctrl-D; empty for Ctrl-D at the beginning of a line."""
        return await self._lines.read()

    async def write(self, data: bytes) -> None:
        """Write to the client's terminal."""
        await self._streams.out(data.replace(b"\n", b"\r\n"))

    async def type(self) -> None:
        """Take what the client types, until it leaves, or ends or interrupts the input."""
        while piece := await self._streams.stdin.read():
            for key in piece:
                if not await self._press(key):
                    break
        await self._lines.close()

    async def _press(self, key: int) -> bool:
        """Handle a key; False if no more input comes."""
        if key == _INTERRUPT:
            await self._streams.out(b"^C\r\n")
            self.interrupted.set()
            return False
        if key in _ERASE:
            if self._line:
                del self._line[-1]
                await self._streams.out(b"\b \b")
        elif key == _END:
            if not self._line:
                await self._lines.close()
                return False
            await self._send()
        elif key in (_RETURN, _LINE):
            self._line.append(_LINE)
            await self._streams.out(b"\r\n")
            await self._send()
        else:
            self._line.append(key)
            await self._streams.out(bytes([key]))
        return True

    async def _send(self) -> None:
        line, self._line = bytes(self._line), bytearray()
        await self._lines.feed(line)
