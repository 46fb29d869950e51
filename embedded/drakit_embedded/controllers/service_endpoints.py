"""What stands behind a Service: the addresses and ports of the pods that it selects.

Endpoints and EndpointSlices say the same in two forms. After k8s.io/endpointslice (utils.go, util/controller_utils.go)
and k8s.io/kubernetes/pkg/controller/endpoint/endpoints_controller.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from drakit_api.core.containers import is_sidecar
from drakit_api.core.pod_claims import is_terminal
from drakit_api.kubernetes_objects import Object
from drakit_embedded.controllers.pods import is_ready

_HEADLESS = "service.kubernetes.io/headless"
SERVICE_NAME = "kubernetes.io/service-name"
_ZONE = "topology.kubernetes.io/zone"


def is_wanted(service: Object) -> bool:
    """Check whether a controller makes the endpoints of a Service; those without a selector are made by hand."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def selects(service: Object, pod: Object) -> bool:
    """Check whether the pod has the labels that the Service looks for."""
    labels = pod["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in service["spec"]["selector"].items())


def is_behind(pod: Object, *, leaving: bool) -> bool:
    """Check whether a selected pod has an address that counts; ``leaving``: also while it is being deleted."""
    if is_terminal(pod) or not pod.get("status", {}).get("podIP"):
        return False
    return leaving or not pod["metadata"].get("deletionTimestamp")


def families(service: Object) -> list[str]:
    """List the families of a Service, the primary one first: ``IPv4``, ``IPv6`` or both."""
    return service["spec"].get("ipFamilies") or ["IPv4"]


def address(pod: Object, family: str) -> str | None:
    """Find the pod's address of a family (``IPv4``, ``IPv6``)."""
    status = pod.get("status") or {}
    listed = [entry["ip"] for entry in status.get("podIPs") or ()] or [status.get("podIP", "")]
    return next((text for text in listed if text and (":" in text) is (family == "IPv6")), None)


def ports(service: Object, pod: Object) -> list[Object] | None:
    """Resolve the ports of a Service on a pod; None if the Service has ports and the pod none of them."""
    spec = service["spec"]
    if not spec.get("ports"):
        return [] if spec.get("clusterIP") == "None" else None
    found = []
    for port in spec["ports"]:
        number = _target(pod, port)
        if number is not None:
            named = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
            application = port.get("appProtocol")
            found.append(named if application is None else {**named, "appProtocol": application})
    return found or None


def _target(pod: Object, port: Object) -> int | None:
    """Find the target port: a number, or that of the container port with the name and protocol (FindPort)."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    containers = [*(pod["spec"].get("containers") or ()), *filter(is_sidecar, pod["spec"].get("initContainers") or ())]
    for container in containers:
        for named in container.get("ports") or ():
            if named.get("name") == target and named.get("protocol", "TCP") == port.get("protocol", "TCP"):
                return int(named["containerPort"])
    return None


def endpoint(service: Object, pod: Object, ip: str, node_labels: Mapping[str, str]) -> Object:
    """Build the entry of a pod in an EndpointSlice."""
    serving, leaving = is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not leaving)
    optional = {
        "nodeName": pod["spec"].get("nodeName"),
        "zone": node_labels.get(_ZONE),
        "hostname": _host(service, pod),
    }
    return {
        "addresses": [ip],
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        "targetRef": _reference(pod),
        **{key: value for key, value in optional.items() if value},
    }


def _reference(pod: Object) -> Object:
    return {"kind": "Pod", **{key: pod["metadata"][key] for key in ("namespace", "name", "uid")}}


def _host(service: Object, pod: Object) -> str | None:
    """Find the name of the pod in DNS, if its subdomain is the Service (ShouldSetHostname)."""
    spec = pod["spec"]
    return spec.get("hostname") if spec.get("subdomain") == service["metadata"]["name"] else None


def subsets(service: Object, pods: Iterable[Object]) -> list[Object]:
    """Build the subsets of Endpoints: ports that lead to the same addresses are in one subset (RepackSubsets)."""
    entries: dict[str, Object] = {}
    by_port: dict[str, dict[str, bool]] = {}
    ports_by_text: dict[str, Object | None] = {}
    unready = bool(service["spec"].get("publishNotReadyAddresses"))
    for pod in pods:
        ip, listed = address(pod, families(service)[0]), ports(service, pod)
        if ip is None or listed is None or not is_behind(pod, leaving=unready):
            continue
        entries[ip] = _address_entry(service, pod, ip)
        for port in listed or (None,):
            ports_by_text[repr(port)] = port
            by_port.setdefault(repr(port), {})[ip] = unready or is_ready(pod)
    together: dict[str, list[str]] = {}
    for text, reached in by_port.items():
        together.setdefault(repr(sorted(reached.items())), []).append(text)
    found = []
    for texts in sorted(sorted(texts) for texts in together.values()):
        listed = [_unnamed(port) for text in texts if (port := ports_by_text[text]) is not None]
        found.append(_subset(by_port[texts[0]], entries, listed))
    return found


def _address_entry(service: Object, pod: Object, ip: str) -> Object:
    optional = {"hostname": _host(service, pod), "nodeName": pod["spec"].get("nodeName")}
    return {"ip": ip, **{key: value for key, value in optional.items() if value}, "targetRef": _reference(pod)}


def _unnamed(port: Object) -> Object:
    """Drop an empty name from a port, as Endpoints do."""
    return port if port["name"] else {key: value for key, value in port.items() if key != "name"}


def _subset(reached: Mapping[str, bool], entries: Mapping[str, Object], listed: list[Object]) -> Object:
    """Build a subset; ``reached`` says of each address whether it is ready."""
    subset: Object = {}
    for kind, wanted in (("addresses", True), ("notReadyAddresses", False)):
        ips = sorted((ip for ip, ready in reached.items() if ready is wanted), key=ipaddress.ip_address)
        if ips:
            subset[kind] = [entries[ip] for ip in ips]
    return {**subset, "ports": listed} if listed else subset


def labels(service: Object, extra: Mapping[str, str]) -> dict[str, str]:
    """Merge the labels of the Service with ``extra``, the controller's own, for Endpoints or an EndpointSlice."""
    own = {key: value for key, value in (service["metadata"].get("labels") or {}).items() if key not in extra}
    own.pop(_HEADLESS, None)
    headless = {} if service["spec"].get("clusterIP") not in ("None", "", None) else {_HEADLESS: ""}
    return {**own, **headless, **extra}
