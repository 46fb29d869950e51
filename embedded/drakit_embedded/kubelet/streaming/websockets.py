"""The streams of a command over a WebSocket: each message begins with the number of its stream.

Versions 4 and 5 of the protocol have a status as JSON on the error stream; in version 5 the client can close one
stream, which is how standard input ends. After k8s.io/streaming/pkg/httpstream/wsstream/conn.go and
k8s.io/cri-streaming/pkg/streaming/remotecommand/websocket.go. The WebSocket itself is aiohttp's.
"""

from __future__ import annotations

import base64
import binascii

from aiohttp import WSMsgType, web

from drakit_embedded.kubelet.streaming.streams import Channel, HandshakeError, Options, Outcome, Streams, told

_CLOSE = 255
_WITH_CLOSE = "v5.channel.k8s.io"
_VERSIONED = (_WITH_CLOSE, "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
PROTOCOLS = (*_VERSIONED, "channel.k8s.io", "base64.channel.k8s.io")
# One message; clients send pieces of some 32 KiB.
_MESSAGE_BYTES = 16 * 1024 * 1024
_GOODBYE_SECONDS = 5.0


class WebSocketStreams(Streams):
    """Streams over a WebSocket."""

    def __init__(self, options: Options, socket: web.WebSocketResponse) -> None:
        super().__init__(options)
        self._socket = socket
        self._protocol = socket.ws_protocol or ""
        self._in_text = "base64" in self._protocol

    @classmethod
    async def opened(cls, request: web.BaseRequest, options: Options) -> tuple[WebSocketStreams, web.StreamResponse]:
        """Shake hands with the client, and show it with an empty message that its command can begin.

        Raises:
            HandshakeError: for a client that speaks no version of the protocol that is known here.
        """
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        if offered != [""] and not set(offered) & set(PROTOCOLS):
            raise HandshakeError(web.Response(status=403))
        socket = web.WebSocketResponse(
            protocols=PROTOCOLS, compress=False, max_msg_size=_MESSAGE_BYTES, timeout=_GOODBYE_SECONDS
        )
        await socket.prepare(request)
        streams = cls(options, socket)
        first = Channel.STDOUT if options.stdout else Channel.STDERR if options.stderr else Channel.ERROR
        await streams.send(first, b"")
        return streams, socket

    async def receive(self) -> None:
        """Take what comes from the client, until it leaves."""
        async for message in self._socket:
            if message.type is WSMsgType.BINARY:
                raw = message.data
            elif message.type is WSMsgType.TEXT:
                raw = message.data.encode()
            else:
                break
            if raw and not await self._take(raw):
                break
        await self.stdin.close()

    async def _take(self, raw: bytes) -> bool:
        """Take one message; False if it is against the protocol."""
        if raw[0] == _CLOSE and self._protocol == _WITH_CLOSE:
            if len(raw) == 2 and raw[1] == Channel.STDIN:
                await self.stdin.close()
            return len(raw) == 2 and raw[1] <= max(Channel)
        channel, data = raw[0], raw[1:]
        if self._in_text:
            channel -= ord("0")
            try:
                data = base64.b64decode(data, validate=True)
            except binascii.Error:
                return True  # As there, such a message is lost.
        if channel == Channel.STDIN and self.options.stdin:
            await self.stdin.feed(data)
        return True

    async def send(self, channel: Channel, data: bytes) -> None:
        """Send a message; ``OSError`` if the client has left."""
        if self._in_text:
            await self._socket.send_str(f"{channel:d}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes([channel]) + data)

    async def end(self, outcome: Outcome) -> None:
        """Tell the client how the command ended, and close the socket."""
        translated = self._protocol == _WITH_CLOSE
        if words := told(outcome, versioned=self._protocol in _VERSIONED, translated=translated):
            await self.send(Channel.ERROR, words)
        await self._socket.close()
