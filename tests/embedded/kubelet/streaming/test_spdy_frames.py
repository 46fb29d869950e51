"""SPDY/3.1 as bytes: blocks and frames are read and written, and what is malformed is refused."""

from __future__ import annotations

import struct
import zlib

import pytest

from drakit_embedded.kubelet.streaming import spdy_frames as frames
from drakit_embedded.kubelet.streaming.spdy_frames import FrameError, Kind
from drakit_embedded.kubelet.streaming.spdy_headers import DICTIONARY, HeaderError, HeaderReader, HeaderWriter


def block(plain: bytes) -> bytes:
    """A block of headers, compressed as the first one of a connection."""
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)


def number(value: int) -> bytes:
    return struct.pack(">I", value)


def test_the_dictionary_is_that_of_the_protocol() -> None:
    """zlib knows a dictionary by its checksum, which is in the first bytes of what is compressed with it."""
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


def test_blocks_of_a_connection_depend_on_each_other() -> None:
    writer, reader = HeaderWriter(), HeaderReader()
    first, second = {"streamtype": "stdin", "a": "b\0c"}, {"streamtype": "stdout"}
    assert reader.read(writer.write(first)) == first
    compressed = writer.write(second)
    assert reader.read(compressed) == second
    with pytest.raises(HeaderError, match="cannot be decompressed"):
        HeaderReader().read(compressed)


def test_names_are_read_in_lower_case() -> None:
    assert HeaderReader().read(HeaderWriter().write({"StreamType": "Error"})) == {"streamtype": "Error"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "shorter"),
        (b"no zlib", "cannot be decompressed"),
        (block(number(1)), "shorter"),
        (block(number(2**32 - 1) + b"\0" * 100), "shorter"),
        (block(number(1) + number(2**31) + b"x" * 20), "shorter"),
        (block(number(1) + number(1) + b"n" + number(5) + b"v"), "shorter"),
        (block(b"\0" * 10_000_000), "too long"),
    ],
)
def test_blocks_that_cannot_be_read(raw: bytes, why: str) -> None:
    with pytest.raises(HeaderError, match=why):
        HeaderReader().read(raw)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (struct.pack(">II", 0, 4), "stream 0"),
        (struct.pack(">II", 0x80020001, 10), "version 2"),
        (struct.pack(">II", 0x80030001, 0x100000), "1048576 bytes"),
    ],
)
def test_heads_that_end_the_connection(raw: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        frames.read_head(raw)


def test_heads() -> None:
    data = frames.read_head(frames.data(3, b"abc", last=True)[:8])
    assert (data.kind, data.stream, data.length, data.is_last) == (0, 3, 3, True)
    ping = frames.ping(7)
    head = frames.read_head(ping[:8])
    assert (head.kind, head.length, frames.read_stream(ping[8:])) == (Kind.PING, 4, 7)


@pytest.mark.parametrize(("payload", "why"), [(b"\0\0\0", "without its stream"), (number(0), "of stream 0")])
def test_control_frames_name_a_stream(payload: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        frames.read_stream(payload)
    with pytest.raises(FrameError, match="without its headers"):
        frames.headers_of_stream(payload)
