"""``pods/log``: fetched from the kubelet that runs the pod, and passed through as it comes.

The node says where its kubelet listens (``status.addresses``, ``status.daemonEndpoints.kubeletEndpoint.Port``); who is
believed to be one, and what it is shown, is in ``kubelet_access``. After LogLocation in
k8s.io/kubernetes/pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import quote

import aiohttp
from aiohttp import web

from drakit_api.core.containers import LASTING, containers_of
from drakit_api.golang import gostrings
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import UNREACHABLE
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
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
    container = _container(obj, query.text("container"))
    node = obj["spec"].get("nodeName")
    if not node:
        return web.Response(status=204)
    url = f"{_kubelet(api, node)}/containerLogs/{quote(pod.key[0])}/{quote(pod.key[1])}/{quote(container)}"
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


def _container(pod: Object, asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    if asked:
        if all(container["name"] != asked for container in containers_of(spec, LASTING)):
            raise statuses.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    names = [str(container["name"]) for container in containers_of(spec, ("containers",))]
    if len(names) == 1 and not spec.get("initContainers"):
        return names[0]
    choice = " ".join(names)
    raise statuses.bad_request(f"a container name must be specified for pod {name}, choose one of: [{choice}]")


def _kubelet(api: Api, node: str) -> str:
    """Find the URL of a node's kubelet, ``https://ADDRESS:PORT``; it must be on this machine."""
    obj = api.find("nodes", "", node)
    if obj is None:
        raise statuses.not_found("nodes", "", node)
    status = obj.get("status") or {}
    try:
        port = int(status["daemonEndpoints"]["kubeletEndpoint"]["Port"])
        addresses = {entry["type"]: entry["address"] for entry in reversed(status["addresses"])}
        address = ipaddress.ip_address(addresses["InternalIP"])
    except (KeyError, TypeError, ValueError):
        raise statuses.internal(f"node {node} does not say where its kubelet listens") from None
    if not is_local(address):
        raise statuses.forbidden("nodes", "", node, f"its kubelet is at {address}, which is not on this machine")
    host = f"[{address}]" if address.version == 6 else str(address)
    return f"https://{host}:{port}"


def is_local(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Check whether an address is this machine's own: only such a one can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


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
