"""Fetching files over HTTP as a careful user of curl would: bounded, through the environment's proxies, and by https.

Nothing here decides whether what came is right: that is for checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ClientTimeout, TooManyRedirects

from drakit_kind.cluster import ClusterError

# A connection that is this slow is broken; a download as a whole may take as long as it takes.
_CONNECT_SECONDS = 30.0
_SILENT_SECONDS = 60.0
_CHUNK = 1 << 18
_MOST_BYTES = 1 << 30  # ten times the largest of these files
_MOST_TEXT_BYTES = 1 << 20
# Ask for the published bytes, without compression: the checksum is of those.
_HEADERS = {"Accept-Encoding": "identity"}

# Called with the bytes received so far, and of how many (None if the server does not say).
OnBytes = Callable[[int, int | None], None]


class MissingFileError(ClusterError):
    """The server answers, and has no such file."""


def checked_host(text: str) -> str:
    """Return the beginning of URLs that a user has named, without a slash at its end.

    Raises ``ClusterError`` for anything but http or https with a host.
    """
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and url.hostname and not url.query and not url.fragment
    except ValueError:  # e.g. of a port that is no number
        usable = False
    if not usable:
        raise ClusterError(f"{text!r} is no URL to download from; write it as in https://mirror.example.com/kubernetes")
    return text.rstrip("/")


class Fetcher:
    """Gets files one after the other; to be used in an ``async with`` block.

    All methods raise ``MissingFileError`` for what the server does not have, and ``ClusterError`` for everything else
    that goes wrong; both name the URL, without a password.
    """

    async def __aenter__(self) -> Self:
        timeout = ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS)
        # trust_env: the proxies that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name.
        self._session = ClientSession(trust_env=True, timeout=timeout, headers=_HEADERS, auto_decompress=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._session.close()

    async def text(self, url: str) -> str:
        """Return a small file of text, of at most a MiB."""
        content = bytearray()
        async with self._answer(url) as response:
            async for chunk in _chunks(response, _MOST_TEXT_BYTES):
                content += chunk
        return content.decode(errors="replace")

    async def save(self, url: str, file: Path, algorithm: str, on_bytes: OnBytes) -> str:
        """Write what is at a URL to a new file; return its hash, in hexadecimal digits."""
        seen, came = hashlib.new(algorithm), 0
        async with self._answer(url) as response:
            with file.open("xb") as output:
                async for chunk in _chunks(response, _MOST_BYTES):
                    output.write(chunk)
                    seen.update(chunk)
                    came += len(chunk)
                    on_bytes(came, response.content_length)
        return seen.hexdigest()

    @asynccontextmanager
    async def _answer(self, url: str) -> AsyncIterator[ClientResponse]:
        try:
            async with self._session.get(url) as response:
                _check_way(response)
                if response.status == 404:
                    raise MissingFileError(f"{shown_url(url)}: there is no such file (404)")
                if response.status != 200:
                    raise ClusterError(f"{shown_url(url)}: the server answers {response.status} {response.reason}")
                yield response
        except TimeoutError:
            raise ClusterError(f"{shown_url(url)}: nothing came for {_SILENT_SECONDS:.0f} s") from None
        except TooManyRedirects:
            raise ClusterError(f"{shown_url(url)}: it is redirected again and again") from None
        except ClientConnectorError as error:
            raise ClusterError(
                f"{shown_url(url)}: {error}; where only a proxy or a mirror can be reached, name it: $HTTPS_PROXY, "
                "--url, --github-url"
            ) from error
        except ClientError as error:
            raise ClusterError(f"{shown_url(url)}: {error or type(error).__name__}") from error


async def _chunks(response: ClientResponse, limit: int) -> AsyncIterator[bytes]:
    came = 0
    async for chunk in response.content.iter_chunked(_CHUNK):
        came += len(chunk)
        if came > limit:
            raise ClusterError(
                f"{shown_url(str(response.url))}: it has more than {limit >> 20} MiB, and was not read on"
            )
        yield chunk


def _check_way(response: ClientResponse) -> None:
    """Refuse a redirection from https to http: who is between could put a file and its checksum there."""
    hops = [each.url for each in (*response.history, response)]
    if hops[0].scheme == "https" and any(hop.scheme != "https" for hop in hops):
        way = " -> ".join(shown_url(str(hop)) for hop in hops)
        raise ClusterError(f"a redirection leads away from https, which is refused: {way}")


def shown_url(url: str) -> str:
    """Return a URL as it may be shown and noted: without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
