"""Blocks of names and values in SPDY/3.1 frames, compressed over all blocks of a connection.

After section 2.6.10 of the SPDY protocol, draft 3.1, which begins each direction's compression with a dictionary of
the names and values that HTTP usually has. No maintained Python package speaks SPDY, which browsers gave up for HTTP/2.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

_NAMES = """
options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
authorization cache-control connection content-base content-encoding content-language content-length content-location
content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match
if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range
referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get
status
"""
_LAST_NAMES = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TEXT = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    b"404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    b"publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_LENGTH = struct.Struct(">I")
DICTIONARY = b"".join(_LENGTH.pack(len(name)) + name.encode() for name in (*_NAMES.split(), *_LAST_NAMES)) + _TEXT
# Bytes of a block once it is decompressed; those of the streams of a command have less than a hundred.
_LONGEST = 64 * 1024


class HeaderError(ValueError):
    """A block that cannot be read; the connection cannot go on, as later blocks depend on it."""


class HeaderReader:
    """Reads the blocks of one direction of a connection, in their order."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)

    def read(self, block: bytes) -> dict[str, str]:
        """Read names (in lower case) and values; several values of a name are joined by NUL.

        Raises:
            HeaderError: for what is no such block, or longer than any is.
        """
        try:
            plain = self._decompressor.decompress(block, _LONGEST)
        except zlib.error as error:
            raise HeaderError(f"headers cannot be decompressed: {error}") from None
        if self._decompressor.unconsumed_tail:
            raise HeaderError("headers are too long")
        texts = _Texts(plain)
        return {texts.take().lower(): texts.take() for _ in range(texts.count())}


class HeaderWriter:
    """Writes the blocks of one direction of a connection, in their order."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)

    def write(self, headers: Mapping[str, str]) -> bytes:
        """Encode names and values."""
        texts = [text.encode() for pair in headers.items() for text in pair]
        plain = _LENGTH.pack(len(headers)) + b"".join(_LENGTH.pack(len(text)) + text for text in texts)
        return self._compressor.compress(plain) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


class _Texts:
    """A position in a decompressed block: a number of pairs, then texts, each after its length."""

    def __init__(self, plain: bytes) -> None:
        self._plain, self._at = plain, 0

    def count(self) -> int:
        number = self._number()
        # Each pair takes eight bytes at least.
        if number > len(self._plain) // 8:
            raise HeaderError("headers are shorter than they say")
        return number

    def take(self) -> str:
        length = self._number()
        text = self._plain[self._at : self._at + length]
        if len(text) < length:
            raise HeaderError("headers are shorter than they say")
        self._at += length
        return text.decode(errors="replace")

    def _number(self) -> int:
        if self._at + _LENGTH.size > len(self._plain):
            raise HeaderError("headers are shorter than they say")
        number: int = _LENGTH.unpack_from(self._plain, self._at)[0]
        self._at += _LENGTH.size
        return number
