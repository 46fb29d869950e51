"""Connections to other programs, kept open between calls, and one POST of JSON.

After k8s.io/apiserver/pkg/util/webhook/client.go and ``Request.Do`` in k8s.io/client-go/rest/request.go.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.outgoing import addresses, go_errors
from drakit_embedded.apiserver.outgoing.targets import Target
from drakit_embedded.apiserver.storage.store import Store

# Upstream reads all; this is more than any object of the cluster can be.
_MOST_BYTES = 16 * 1024 * 1024
_HEADERS = {
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
# defaultCacheSize
_CONTEXTS = 200


class Reply(NamedTuple):
    """What came back: the answer of a program, or why there is none."""

    status: int
    content_type: str
    body: bytes
    # As client-go's error reads; empty if there is an answer, be it another status than 200.
    failure: str = ""


class UnusableError(Exception):
    """Authorities that cannot be read, in the words of client-go."""


class _Attempt:
    """What is known of the connection of one attempt."""

    reused = False


class Clients:
    """The HTTP clients of one server, made when they are first needed."""

    def __init__(self, store: Store) -> None:
        """Resolve references to Services by the objects of ``store``."""
        self._store = store
        self._session: aiohttp.ClientSession | None = None

    async def post(self, target: Target, body: bytes, seconds: float) -> Reply:
        """Send JSON; whatever goes wrong is a reply. ``seconds`` is all the time that it may take."""
        parts, query = urlsplit(target.url), f"?timeout={math.ceil(max(seconds, 0.001))}s"
        host, port = parts.hostname or "", parts.port or 443
        try:
            context = _context(target.authorities)
            if target.service is not None:
                host, port = addresses.resolve(self._store, target.service)
            async with asyncio.timeout(seconds):
                return await self._post(target, _joined(host, port, parts.path + query), context, body)
        except addresses.UnresolvedError as error:
            why = str(error)
        except UnusableError as error:
            return Reply(0, "", b"", str(error))
        except (OSError, aiohttp.ClientError) as error:
            named = target.service.host if target.service is not None else host
            why = go_errors.of(error, named, host, port)
        return Reply(0, "", b"", f"Post {quote(target.url + query)}: {why}")

    async def _post(self, target: Target, url: str, context: ssl.SSLContext, body: bytes) -> Reply:
        """Send a request; once more if an idle connection turns out to be closed, as Go does."""
        name = target.service.host if target.service is not None else None
        headers = {"Host": urlsplit(target.url).netloc} if name is not None else {}
        while True:
            attempt = _Attempt()
            try:
                async with self._opened().post(
                    url, data=body, headers=headers, ssl=context, server_hostname=name, trace_request_ctx=attempt
                ) as response:
                    return await _read(response)
            except aiohttp.ServerDisconnectedError:
                if not attempt.reused:
                    raise

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=90),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
                timeout=aiohttp.ClientTimeout(total=None),
                trace_configs=[trace],
            )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _note_reuse(session: aiohttp.ClientSession, context: Any, params: Any) -> None:
    context.trace_request_ctx.reused = True


async def _read(response: aiohttp.ClientResponse) -> Reply:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MOST_BYTES:
            return Reply(0, "", b"", f"the response is longer than {_MOST_BYTES} bytes")
    return Reply(response.status, response.headers.get("Content-Type", ""), bytes(body))


def _joined(host: str, port: int, rest: str) -> str:
    return f"https://[{host}]:{port}{rest}" if ":" in host else f"https://{host}:{port}{rest}"


def check(target: Target) -> None:
    """Check that a target can be called at all.

    Raises:
        UnusableError: if its authorities cannot be read.
    """
    _context(target.authorities)


@lru_cache(_CONTEXTS)
def _context(authorities: str) -> ssl.SSLContext:
    """Build the TLS context that trusts some authorities; each is made once, as it takes a millisecond."""
    try:
        context = ssl.create_default_context(cadata=authorities or None)
    except (ssl.SSLError, ValueError):
        why = "failed to parse certificate: x509: malformed certificate"
        if "-----BEGIN " not in authorities:
            why = "unable to parse bytes as PEM block"
        raise UnusableError(f"unable to load root certificates: {why}") from None
    # Go does not ask more of certificates than that they lead to one in the bundle, which need not be a root.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
