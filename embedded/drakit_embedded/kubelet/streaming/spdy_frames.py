"""Frames of SPDY/3.1: what a server of streams reads and writes (sections 2.2 and 2.6 of the protocol, draft 3.1).

As much of it as k8s.io/streaming uses by github.com/moby/spdystream. That has no flow control, so none is here: frames
about windows are read and mean nothing, and what is not read stays in TCP's own window.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

HEAD = struct.Struct(">II")
# A control frame with a block of headers is the longest one that is read.
LONGEST_CONTROL = 64 * 1024
_WORD = struct.Struct(">I")
_CONTROL, _VERSION = 0x80000000, 3
_STREAM_BITS = 0x7FFFFFFF
_LENGTH_BITS = 0xFFFFFF
FIN = 0x01


class Kind(IntEnum):
    """Control frames by their number; others are skipped."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class Reset(IntEnum):
    """Why a stream is reset."""

    PROTOCOL_ERROR = 1
    REFUSED_STREAM = 3


class FrameError(ValueError):
    """A frame that ends the connection; the message says why."""


class Head(NamedTuple):
    """The first eight bytes of a frame: ``kind`` is 0 for data, whose stream they name."""

    kind: int
    stream: int
    flags: int
    length: int

    @property
    def is_last(self) -> bool:
        """Whether the sender sends nothing more on this stream."""
        return bool(self.flags & FIN)


def read_head(raw: bytes) -> Head:
    """Read a frame's head.

    Raises:
        FrameError: for another version, data of no stream, or a control frame that is too long.
    """
    first, second = HEAD.unpack(raw)
    flags, length = second >> 24, second & _LENGTH_BITS
    if not first & _CONTROL:
        if not first:
            raise FrameError("data of stream 0")
        return Head(0, first, flags, length)
    if first >> 16 & 0x7FFF != _VERSION:
        raise FrameError(f"version {first >> 16 & 0x7FFF} of SPDY")
    if length > LONGEST_CONTROL:
        raise FrameError(f"a control frame of {length} bytes")
    return Head(first & 0xFFFF, 0, flags, length)


def read_stream(payload: bytes) -> int:
    """Read the stream that a control frame is about, from its first word; the identifier of a PING stands there, too.

    Raises:
        FrameError: if the frame is too short for one, or names stream 0.
    """
    if len(payload) < _WORD.size:
        raise FrameError("a control frame without its stream")
    stream: int = _WORD.unpack_from(payload)[0]
    if not stream & _STREAM_BITS:
        raise FrameError("a control frame of stream 0")
    return stream


def headers_of_stream(payload: bytes) -> bytes:
    """Take the block of headers of a SYN_STREAM: behind two streams, the priority and the slot."""
    if len(payload) < 10:
        raise FrameError("a new stream without its headers")
    return payload[10:]


def data(stream: int, payload: bytes, *, last: bool = False) -> bytes:
    """Encode a data frame of at most 16 MiB."""
    return HEAD.pack(stream, (FIN if last else 0) << 24 | len(payload)) + payload


def syn_reply(stream: int, block: bytes) -> bytes:
    """Encode the acceptance of a stream."""
    return _control(Kind.SYN_REPLY, _WORD.pack(stream) + block)


def rst_stream(stream: int, why: Reset) -> bytes:
    """Encode the end of a stream in both directions."""
    return _control(Kind.RST_STREAM, _WORD.pack(stream) + _WORD.pack(why))


def ping(identifier: int) -> bytes:
    """Encode a ping, or the answer to one, which is the same."""
    return _control(Kind.PING, _WORD.pack(identifier))


def goaway(last_stream: int, status: int) -> bytes:
    """Encode that the connection ends: status 0 in good order, 1 after an error of the protocol."""
    return _control(Kind.GOAWAY, _WORD.pack(last_stream) + _WORD.pack(status))


def _control(kind: Kind, payload: bytes) -> bytes:
    return HEAD.pack(_CONTROL | _VERSION << 16 | kind, len(payload)) + payload
