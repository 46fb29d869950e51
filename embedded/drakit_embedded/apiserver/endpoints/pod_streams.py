"""``pods/exec``, ``pods/attach`` and ``pods/portforward``: connections joined with the kubelet that runs the pod.

The client's wish to change the protocol is passed on to the kubelet, and if it agrees, everything after it, both ways
and unread: WebSockets and SPDY are a matter of client and kubelet, as they are with kubelets that have
ExtendWebSocketsToKubelet. After k8s.io/kubernetes/pkg/registry/core/pod/rest/subresources.go, pkg/registry/core/pod/
strategy.go (streamLocation) and k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import os
import ssl
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web

from drakit_api.golang import gostrings
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.endpoints import pod_kubelets
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.requests import Query, unsigned
from drakit_embedded.apiserver.scheme.kinds import SUBRESOURCE_KINDS
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.serving.upgrades import Upgraded, close, is_upgrade, take_over

_GATE = "AuthorizePodWebsocketUpgradeCreatePermission"
# The kubelet's names for what the API calls stdin, stdout, stderr and tty.
_FLAGS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
# Headers for the kubelet. Credentials are not among them: it gets the server's own.
_PASSED_ON = frozenset(
    {
        *("connection", "upgrade", "origin", "user-agent", "x-stream-protocol-version"),
        *("sec-websocket-extensions", "sec-websocket-key", "sec-websocket-protocol", "sec-websocket-version"),
    }
)
_ANSWERED = ("Content-Type", "X-Accepted-Stream-Protocol-Versions")
_CONNECT_SECONDS = 5.0
_HEAD_SECONDS = 30.0
_REFUSAL_SECONDS = 10.0
_REFUSAL_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024


class _Answer(NamedTuple):
    """The head of a kubelet's answer."""

    status: int
    raw: bytes
    headers: http.client.HTTPMessage


async def connect(call: Call) -> web.StreamResponse:
    """Join a client with a container: exec, attach, or (without a container) port-forward.

    Raises:
        StatusError: for what kube-apiserver refuses before it has asked the kubelet, and if that cannot be reached.
    """
    if call.query.text("dryRun"):
        raise statuses.bad_request("dryRun is not supported")
    what = call.target.subresource or ""
    _admit(call, _options(what, call.query))
    _check_create(call)
    pod = call.record().object()
    name = "" if what == "portforward" else pod_kubelets.container(pod, call.query.text("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        raise statuses.bad_request(f"pod {call.key[1]} does not have a host assigned")
    address = pod_kubelets.url(call.api, node)
    if not is_upgrade(call.request.headers):
        raise statuses.bad_request("Upgrade request required")
    place = {"portforward": "portForward"}.get(what, what)
    parts = "/".join(quote(part) for part in (*call.key, name) if part)
    return await _joined(call, address, f"/{place}/{parts}?{urlencode(_parameters(what, call.query))}")


def _options(what: str, query: Query) -> Object:
    """Decode the query into the object that admission sees: PodExecOptions and the like."""
    options: Object = {"kind": SUBRESOURCE_KINDS[what][2], "apiVersion": "v1"}
    if what == "portforward":
        ports = _ports(query)
        return {**options, **({"ports": ports} if ports else {})}
    options |= {flag: True for flag in _FLAGS if query.flag(flag)}
    if container := query.text("container"):
        options["container"] = container
    return {**options, "command": query.texts("command")} if what == "exec" else options


def _parameters(what: str, query: Query) -> list[tuple[str, str]]:
    """Build the kubelet's query (streamParams)."""
    if what == "portforward":
        ports = _ports(query)
        return [("port", ",".join(map(str, ports)))] if ports else []
    found = [(name, "1") for flag, name in _FLAGS.items() if query.flag(flag)]
    return [*found, *(("command", word) for word in query.texts("command") if what == "exec")]


def _ports(query: Query) -> list[int]:
    """Read the ports (Convert_Slice_string_To_Slice_int32 in k8s.io/apimachinery/pkg/apis/meta/v1/conversion.go)."""
    found: list[int] = []
    for text in ",".join(query.texts("ports")).split(",") if query.given("ports") else ():
        try:
            found.append(unsigned(text, bits=16))
        except ValueError as error:
            raise statuses.bad_request(f"cannot convert to []int32: {error}") from None
    return found


def _admit(call: Call, options: Object) -> None:
    subresource = call.target.subresource or ""
    request = call.plain_intent().attributes("CONNECT", call.served.kind, call.key, options, subresource=subresource)
    call.api.admission.admit(request, call.api)
    call.api.admission.validate(request, call.api)


def _check_create(call: Call) -> None:
    """Require the verb create for a GET, too (pkg/registry/core/pod/rest/authorize.go)."""
    if call.request.method == "POST" or not call.api.gates.enabled(_GATE):
        return
    namespace, name = call.key
    wanted = Access(call.user, "create", "", "pods", call.target.subresource or "", namespace, name)
    decision = call.api.authorizer.decide(wanted)
    if not decision.allowed:
        raise statuses.forbidden("pods", "", name, decision.reason)


async def _joined(call: Call, address: str, path: str) -> web.StreamResponse:
    reader, writer = await _dial(call, address)
    try:
        writer.write(_request(call, address, path))
        await writer.drain()
        answer = await _answer(reader)
        if answer.status == HTTPStatus.SWITCHING_PROTOCOLS:
            await _join(call.request, answer.raw, reader, writer)
            return Upgraded()
        if answer.status < HTTPStatus.BAD_REQUEST:
            raise StatusError(500, "", f"invalid upgrade response: status code {answer.status}")
        return await _refusal(answer, reader)
    except OSError as error:
        raise StatusError(500, "", f"error sending request: {str(error) or 'i/o timeout'}") from None
    finally:
        await close(writer)


async def _dial(call: Call, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(address)
    try:
        context = call.api.kubelets.context()
        async with asyncio.timeout(_CONNECT_SECONDS):
            return await asyncio.open_connection(place.hostname, place.port, ssl=context, limit=_PIECE_BYTES)
    except ssl.SSLCertVerificationError as error:
        why = f"tls: failed to verify certificate: x509: {error}"
    except OSError as error:
        # asyncio has words of its own for a number; a TimeoutError has none.
        failure = f"connect: {os.strerror(error.errno).lower()}" if error.errno else str(error) or "i/o timeout"
        why = f"dial tcp {place.netloc}: {failure}"
    raise StatusError(500, "", f"error dialing backend: {why}")


def _request(call: Call, address: str, path: str) -> bytes:
    sent = [(name, value) for name, value in call.request.headers.items() if name.lower() in _PASSED_ON]
    length = [("Content-Length", "0")] if call.request.method == "POST" else []
    headers = [("Host", urlsplit(address).netloc), *sent, *call.api.kubelets.headers.items(), *length]
    lines = [f"{call.request.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode(errors="surrogateescape")


async def _answer(reader: asyncio.StreamReader) -> _Answer:
    """Read the head of a kubelet's answer; 500 if what comes is none."""
    try:
        async with asyncio.timeout(_HEAD_SECONDS):
            raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        raise StatusError(500, "", "unexpected EOF") from None
    except asyncio.LimitOverrunError:
        raise StatusError(500, "", "malformed HTTP response: its head is too long") from None
    line, _, rest = raw.partition(b"\r\n")
    words = line.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise StatusError(500, "", f"malformed HTTP response {gostrings.quote(line[:100].decode(errors='replace'))}")
    try:
        return _Answer(int(words[1]), raw, http.client.parse_headers(io.BytesIO(rest)))
    except http.client.HTTPException as error:
        raise StatusError(500, "", f"malformed HTTP response: {error}") from None


async def _refusal(answer: _Answer, reader: asyncio.StreamReader) -> web.Response:
    """Build the client's response from a kubelet's that does not change the protocol: the same, in its words."""
    length = answer.headers.get("Content-Length", "")
    size = min(int(length), _REFUSAL_BYTES) if length.isdecimal() else _REFUSAL_BYTES
    said = b""
    try:
        async with asyncio.timeout(_REFUSAL_SECONDS):
            while len(said) < size and (piece := await reader.read(size - len(said))):
                said += piece
    except TimeoutError:
        pass  # What came by then is what it said.
    response = web.Response(status=answer.status, body=said)
    for name in _ANSWERED:
        for value in answer.headers.get_all(name, []):
            response.headers.add(name, value)
    return response


async def _join(
    request: web.BaseRequest, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass everything on, both ways, until either side ends; ``first`` is the head of the kubelet's answer."""
    theirs, ours = take_over(request)
    ours.write(first)
    pumps = [asyncio.create_task(_pump(theirs, writer)), asyncio.create_task(_pump(reader, ours))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await close(ours)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(_PIECE_BYTES):
            target.write(piece)
            await target.drain()
    except OSError:
        return  # Whoever is at the other end sees that nothing comes any more.
