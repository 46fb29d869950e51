"""``pods/log``: fetched from the kubelet that runs the pod, and passed through as it comes.

After LogLocation in k8s.io/kubernetes/pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from urllib.parse import quote

import aiohttp
from aiohttp import web

from drakit_api.golang import gostrings
from drakit_client.errors import UNREACHABLE
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.endpoints import pod_kubelets
from drakit_embedded.apiserver.requests import Query
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Record

_PARAMETERS = ("follow", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "timestamps", "previous", "stream")
_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 600.0
_REFUSAL_BYTES = 10000
# Reason and message for a kubelet's errors; without a message, the kubelet's own is used.
_REFUSALS = {
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
}
_UNKNOWN = "the server responded with the status code %d but did not return more information"
_FAILED = "an error on the server (%s) has prevented the request from succeeding"


async def stream(api: Api, pod: Record, query: Query, request: web.BaseRequest) -> web.StreamResponse:
    """Stream the log of one container as text, from the kubelet to the client."""
    obj = pod.object()
    container = pod_kubelets.container(obj, query.text("container"))
    node = obj["spec"].get("nodeName")
    if not node:
        return web.Response(status=204)
    url = f"{pod_kubelets.url(api, node)}/containerLogs/{quote(pod.key[0])}/{quote(pod.key[1])}/{quote(container)}"
    parameters = {key: query.text(key) for key in _PARAMETERS if query.text(key)}
    timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=_IDLE_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, params=parameters, headers=api.kubelets.headers, ssl=api.kubelets.context()) as upstream,
        ):
            if upstream.status != 200:
                said = (await upstream.content.read(_REFUSAL_BYTES)).decode(errors="replace")
                raise _refused(pod.key[1], upstream.status, said)
            return await _pass_through(upstream, request)
    except (*UNREACHABLE, OSError) as error:
        raise _unreachable(url, error) from None


async def _pass_through(upstream: aiohttp.ClientResponse, request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    try:
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
    except UNREACHABLE:
        # The response has begun: if the kubelet goes away now, the stream can only end.
        return response
    await response.write_eof()
    return response


def _refused(pod: str, code: int, said: str) -> StatusError:
    """Convert a kubelet's error answer to the API server's.

    After k8s.io/apiserver/pkg/registry/generic/rest/response_checker.go and NewGenericServerResponse of apimachinery.
    """
    if code == 500:
        return statuses.internal(said)
    if code == 400:
        return statuses.bad_request(said)
    unknown = ("InternalError", _FAILED % gostrings.quote(said)) if code > 500 else ("", _UNKNOWN % code)
    reason, message = _REFUSALS.get(code, unknown)
    cause = {"reason": "UnexpectedServerResponse", **({"message": said} if said else {})}
    details = {"name": pod, "kind": "pods/log", "causes": [cause]}
    return StatusError(code, reason, f"{message or said} ( pods/log {pod})", details)


def _unreachable(url: str, error: Exception) -> StatusError:
    why = str(error)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = f"tls: failed to verify certificate: x509: {error.certificate_error}"
    return StatusError(500, "", f"Get {gostrings.quote(url)}: {why}")
