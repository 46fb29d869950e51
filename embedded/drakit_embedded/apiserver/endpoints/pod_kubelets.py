"""Which container of which kubelet a request for a running pod means: logs, exec, attach, port-forward.

The node says where its kubelet listens (``status.addresses``, ``status.daemonEndpoints.kubeletEndpoint.Port``); who is
believed to be one, and what it is shown, is in ``kubelet_access``. After k8s.io/kubernetes/pkg/registry/core/pod/
strategy.go.
"""

from __future__ import annotations

import ipaddress
import socket

from drakit_api.core.containers import containers_of
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api


def container(pod: Object, asked: str) -> str:
    """Find the name of the container that is meant (validateContainer).

    Raises:
        StatusError: 400 if the pod has no such container, or several and none was named.
    """
    spec, name = pod["spec"], pod["metadata"]["name"]
    if asked:
        if all(each["name"] != asked for each in containers_of(spec)):
            raise statuses.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    choice = " ".join(str(each["name"]) for each in containers_of(spec))
    raise statuses.bad_request(f"a container name must be specified for pod {name}, choose one of: [{choice}]")


def url(api: Api, node: str) -> str:
    """Find the URL of a node's kubelet, ``https://ADDRESS:PORT``.

    Raises:
        StatusError: 404 without such a node; 500 if it does not say where; 403 unless the address is this machine's.
    """
    obj = api.find("nodes", "", node)
    if obj is None:
        # As there, where what is not found is always of the kind that was asked for.
        raise statuses.not_found("pods", "", node)
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
