"""The streams of a command over SPDY/3.1: the client opens one for each, and says in a header what it is.

kubectl and client-go speak it where WebSockets are not understood or switched off, and kube-apiserver does to kubelets
that are older than 1.36. After k8s.io/streaming/pkg/httpstream (httpstream.go, spdy/upgrade.go, spdy/connection.go),
github.com/moby/spdystream, and k8s.io/cri-streaming/pkg/streaming/remotecommand/httpstream.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

from drakit_embedded.kubelet.streaming import spdy_frames as frames
from drakit_embedded.kubelet.streaming.spdy_headers import HeaderError, HeaderReader, HeaderWriter
from drakit_embedded.kubelet.streaming.streams import Channel, HandshakeError, Options, Outcome, Streams, told
from drakit_embedded.serving.upgrades import Upgraded, close, head, take_over

PROTOCOLS = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_VERSIONED = PROTOCOLS[0]
_RESIZABLE = PROTOCOLS[:2]
_NAMES = {channel.name.lower(): channel for channel in Channel}
_CREATION_SECONDS = 30.0
_PIECE_BYTES = 64 * 1024
_VERSION_HEADER = "X-Stream-Protocol-Version"
_ACCEPTED_HEADER = "X-Accepted-Stream-Protocol-Versions"


class SpdyStreams(Streams):
    """Streams of a SPDY connection; ``receive`` must run for anything else to happen."""

    def __init__(
        self, options: Options, protocol: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(options)
        self._protocol, self._reader, self._writer = protocol, reader, writer
        self._names, self._answers = HeaderReader(), HeaderWriter()
        wanted = {Channel.STDIN: options.stdin, Channel.STDOUT: options.stdout, Channel.STDERR: options.stderr}
        wanted[Channel.RESIZE] = options.tty and protocol in _RESIZABLE
        self._missing = {Channel.ERROR, *(channel for channel, is_wanted in wanted.items() if is_wanted)}
        self._streams: dict[Channel, int] = {}
        self._last = 0
        self._complete = asyncio.Event()

    @classmethod
    async def opened(cls, request: web.BaseRequest, options: Options) -> tuple[SpdyStreams, web.StreamResponse]:
        """Shake hands with the client; its streams come later (``ready``).

        Raises:
            HandshakeError: for a request that asks for another protocol.
        """
        protocol = _negotiated(request)
        reader, writer = take_over(request)
        answer = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", _VERSION_HEADER: protocol}
        writer.write(head(101, answer))
        return cls(options, protocol, reader, writer), Upgraded()

    async def ready(self) -> None:
        """Wait until the client has opened all streams; ``TimeoutError`` if it does not."""
        async with asyncio.timeout(_CREATION_SECONDS):
            await self._complete.wait()

    async def receive(self) -> None:
        """Take what comes from the client, until it leaves or breaks the protocol."""
        try:
            while not self._reader.at_eof():
                first = frames.read_head(await self._reader.readexactly(frames.HEAD.size))
                if first.kind:
                    await self._control(first, await self._reader.readexactly(first.length))
                    await self._writer.drain()  # A client that does not read answers is not read, either.
                else:
                    await self._data(first)
        except (frames.FrameError, HeaderError):
            self._writer.write(frames.goaway(self._last, 1))
        except (OSError, asyncio.IncompleteReadError):
            pass  # The client has left.
        await self.stdin.close()

    async def _data(self, first: frames.Head) -> None:
        is_input = first.stream == self._streams.get(Channel.STDIN)
        left = first.length
        while left:
            piece = await self._reader.read(min(left, _PIECE_BYTES))
            if not piece:
                return
            left -= len(piece)
            if is_input:
                await self.stdin.feed(piece)
        if is_input and first.is_last:
            await self.stdin.close()

    async def _control(self, first: frames.Head, payload: bytes) -> None:
        match first.kind:
            case frames.Kind.SYN_STREAM:
                stream = frames.read_stream(payload)
                names = self._names.read(frames.headers_of_stream(payload))
                await self._open(stream, names, is_last=first.is_last)
            case frames.Kind.SYN_REPLY | frames.Kind.HEADERS:
                # They are about nothing here, but later headers are compressed with them.
                self._names.read(payload[4:])
            case frames.Kind.RST_STREAM:
                if frames.read_stream(payload) == self._streams.get(Channel.STDIN):
                    await self.stdin.close()
            case frames.Kind.PING:
                identifier = frames.read_stream(payload)
                if identifier % 2:  # The client's; even ones would be answers to pings of the server.
                    self._writer.write(frames.ping(identifier))
            case _:
                pass

    async def _open(self, stream: int, names: Mapping[str, str], *, is_last: bool) -> None:
        if stream <= self._last or stream % 2 == 0:
            self._writer.write(frames.rst_stream(stream, frames.Reset.PROTOCOL_ERROR))
            return
        self._last = stream
        channel = _NAMES.get(names.get("streamtype", ""))
        if channel is None or channel in self._streams:
            self._writer.write(frames.rst_stream(stream, frames.Reset.REFUSED_STREAM))
            return
        self._streams[channel] = stream
        self._writer.write(frames.syn_reply(stream, self._answers.write({})))
        if channel is Channel.STDIN and is_last:
            await self.stdin.close()
        self._missing.discard(channel)
        if not self._missing:
            self._complete.set()

    async def send(self, channel: Channel, data: bytes) -> None:
        """Send data frames; ``OSError`` if the client has left."""
        stream = self._streams.get(channel)
        if stream is None:
            return
        for start in range(0, len(data), _PIECE_BYTES):
            self._writer.write(frames.data(stream, data[start : start + _PIECE_BYTES]))
            await self._writer.drain()

    async def end(self, outcome: Outcome) -> None:
        """Tell the client how the command ended, and end all output; it closes the connection then."""
        await self.send(Channel.ERROR, told(outcome, versioned=self._protocol == _VERSIONED))
        for channel in (Channel.STDOUT, Channel.STDERR, Channel.ERROR):
            if (stream := self._streams.get(channel)) is not None:
                self._writer.write(frames.data(stream, b"", last=True))
        await self._writer.drain()

    async def close(self) -> None:
        """Close the connection."""
        await close(self._writer)


def _negotiated(request: web.BaseRequest) -> str:
    """Find the version of the protocol that the client prefers among those that are known (Handshake)."""
    if not request.headers.getall(_VERSION_HEADER, []):
        count = len(request.headers)
        why = f"unable to upgrade: header {_VERSION_HEADER} does not exist in request with {count} headers"
        raise HandshakeError(web.Response(status=400, text=f"{why}\n"))
    offered = [text.strip() for value in request.headers.getall(_VERSION_HEADER) for text in value.split(",")]
    found = next((protocol for protocol in offered if protocol in PROTOCOLS), None)
    if found is None:
        server, client = " ".join(PROTOCOLS), " ".join(filter(None, offered))
        why = f"unable to negotiate protocol: client supports [{client}], server accepts [{server}]"
        response = web.Response(status=403, text=f"unable to upgrade: {why}\n")
        for protocol in PROTOCOLS:
            response.headers.add(_ACCEPTED_HEADER, protocol)
        raise HandshakeError(response)
    if "spdy/3.1" not in request.headers.get("Upgrade", "").lower():
        raise HandshakeError(web.Response(status=400, text="unable to upgrade: missing upgrade headers in request\n"))
    return found
