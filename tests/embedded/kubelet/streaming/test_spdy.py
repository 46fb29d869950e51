"""A SPDY connection as the server sees it: streams are opened, read, answered and ended, whatever a client sends."""

from __future__ import annotations

import asyncio
import random
import struct
from typing import Any, cast

import pytest

from drakit_embedded.kubelet.streaming import spdy_frames as frames
from drakit_embedded.kubelet.streaming.spdy import SpdyStreams
from drakit_embedded.kubelet.streaming.spdy_frames import Kind
from drakit_embedded.kubelet.streaming.spdy_headers import HeaderReader, HeaderWriter
from drakit_embedded.kubelet.streaming.streams import Options, Outcome

ALL = Options(stdin=True, stdout=True, stderr=True, tty=False)
V4 = "v4.channel.k8s.io"


class Written:
    """The bytes that the server has sent, as a writer."""

    def __init__(self) -> None:
        self.raw = b""
        self._names = HeaderReader()

    def write(self, data: bytes) -> None:
        self.raw += data

    async def drain(self) -> None:
        return

    def frames(self) -> list[tuple[Any, ...]]:
        """Data as (stream, bytes, last), control frames as (kind, payload)."""
        found: list[tuple[Any, ...]] = []
        rest = self.raw
        while rest:
            head = frames.read_head(rest[:8])
            payload, rest = rest[8 : 8 + head.length], rest[8 + head.length :]
            if head.kind == Kind.SYN_REPLY:
                found.append((Kind.SYN_REPLY, frames.read_stream(payload), self._names.read(payload[4:])))
            elif head.kind:
                found.append((Kind(head.kind), *struct.unpack(f">{len(payload) // 4}I", payload)))
            else:
                found.append((head.stream, payload, head.is_last))
        return found


class Client:
    """What a client sends, and what it gets for it."""

    def __init__(self, options: Options = ALL, protocol: str = V4) -> None:
        self._reader, self.written, self._names = asyncio.StreamReader(), Written(), HeaderWriter()
        self.streams = SpdyStreams(options, protocol, self._reader, cast(asyncio.StreamWriter, self.written))

    def send(self, *sent: bytes) -> None:
        for each in sent:
            self._reader.feed_data(each)

    def opens(self, stream: int, kind: str, *, last: bool = False) -> bytes:
        block = struct.pack(">IIBB", stream, 0, 0, 0) + self._names.write({"streamtype": kind})
        return _control(Kind.SYN_STREAM, block, 1 if last else 0)

    async def leave(self) -> None:
        """Close the connection; the server has then taken all that was sent."""
        self._reader.feed_eof()
        await asyncio.wait_for(self.streams.receive(), 10)


def _control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload


async def test_a_session_from_its_streams_to_its_end() -> None:
    client = Client()
    client.send(client.opens(1, "error"), client.opens(3, "stdin"), client.opens(5, "stdout"))
    client.send(_control(Kind.SETTINGS, struct.pack(">I", 0)), _control(Kind.WINDOW_UPDATE, struct.pack(">II", 3, 9)))
    client.send(client.opens(7, "stderr"), frames.ping(1), frames.ping(2))
    client.send(frames.data(3, b"some "), frames.data(9, b"nobody's"), frames.data(3, b"input", last=True))
    await client.leave()
    await asyncio.wait_for(client.streams.ready(), 1)
    assert [await client.streams.stdin.read() for _ in range(3)] == [b"some ", b"input", b""]
    await client.streams.out(b"output")
    await client.streams.error(b"errors")
    await client.streams.end(Outcome(0))
    assert client.written.frames() == [
        *((Kind.SYN_REPLY, stream, {}) for stream in (1, 3, 5, 7)),
        (Kind.PING, 1),
        (5, b"output", False),
        (7, b"errors", False),
        (1, b'{"status":"Success"}', False),
        *((stream, b"", True) for stream in (5, 7, 1)),
    ]


@pytest.mark.parametrize(
    ("protocol", "told"),
    [
        (V4, b'"reason":"NonZeroExitCode"'),
        (
            "v2.channel.k8s.io",
            b"command terminated with non-zero exit code: error executing command [a b], exit code 2",
        ),
    ],
)
async def test_a_failure_is_told_as_the_version_has_it(protocol: str, told: bytes) -> None:
    client = Client(Options(stdin=False, stdout=True, stderr=False, tty=True), protocol)
    client.send(client.opens(1, "error"), client.opens(3, "stdout"), client.opens(5, "resize"))
    await client.leave()
    await asyncio.wait_for(client.streams.ready(), 1)
    await client.streams.end(Outcome(2, ["a", "b"]))
    assert told in next(data for stream, data, _ in client.written.frames()[3:] if stream == 1)


async def test_large_output_is_sent_in_pieces() -> None:
    client = Client()
    client.send(client.opens(1, "error"), client.opens(3, "stdout"))
    await client.leave()
    await client.streams.out(b"x" * 200_000)
    pieces = [payload for stream, payload, _ in client.written.frames()[2:] if stream == 3]
    assert (sum(map(len, pieces)), max(map(len, pieces))) == (200_000, 65536)


@pytest.mark.parametrize(
    ("number", "kind", "why"),
    [(2, "stdout", 1), (1, "stdout", 1), (3, "stdwhat", 3), (3, "error", 3)],
    ids=["even", "again", "unknown", "twice"],
)
async def test_streams_that_cannot_be_are_reset(number: int, kind: str, why: int) -> None:
    client = Client()
    client.send(client.opens(1, "error"), client.opens(number, kind))
    await client.leave()
    assert client.written.frames()[1:] == [(Kind.RST_STREAM, number, why)]


async def test_without_all_streams_the_command_does_not_begin() -> None:
    client = Client()
    client.send(client.opens(1, "error"), client.opens(3, "stdin"), client.opens(5, "stdout"))
    await client.leave()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client.streams.ready(), 0.01)


@pytest.mark.parametrize("end", [frames.rst_stream(3, frames.Reset.PROTOCOL_ERROR), b""], ids=["reset", "gone"])
async def test_input_ends_with_its_stream_and_with_the_connection(end: bytes) -> None:
    client = Client()
    client.send(client.opens(1, "error"), client.opens(3, "stdin"), end)
    await client.leave()
    assert await client.streams.stdin.read() == b""


@pytest.mark.parametrize(
    "wrong",
    [
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        struct.pack(">II", 0, 5) + b"zero!",
        struct.pack(">HHI", 0x8002, 1, 10) + b"x" * 10,
        struct.pack(">HHI", 0x8003, 1, 0xFFFFFF),
        _control(Kind.SYN_STREAM, b"short"),
        _control(Kind.SYN_STREAM, struct.pack(">IIBB", 3, 0, 0, 0) + b"no zlib"),
        _control(Kind.PING, b""),
        _control(Kind.RST_STREAM, struct.pack(">I", 0)),
    ],
)
async def test_what_is_against_the_protocol_ends_the_connection(wrong: bytes) -> None:
    client = Client()
    client.send(client.opens(1, "error"), wrong, client.opens(3, "stdin"))
    await client.leave()
    assert len(client.written.frames()) <= 2
    assert await client.streams.stdin.read() == b""


async def test_no_bytes_do_any_harm() -> None:
    chosen = random.Random(7)
    for _ in range(300):
        client = Client()
        heads = [struct.pack(">HHI", 0x8003, chosen.randrange(12), chosen.randrange(40)) for _ in range(3)]
        client.send(client.opens(1, "error"), *(head + chosen.randbytes(chosen.randrange(60)) for head in heads))
        client.send(chosen.randbytes(chosen.randrange(200)))
        await client.leave()
        assert await asyncio.wait_for(client.streams.stdin.read(), 1) is not None
