"""The Service ``kubernetes`` in the namespace ``default``, by which a cluster's programs find its API server.

It has the first address of the range for Services, and its endpoint is where the server listens. After
k8s.io/kubernetes/pkg/controlplane/controller/{kubernetesservice,defaultservicecidr} and pkg/controlplane/reconcilers.
"""

from __future__ import annotations

import logging

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields import managers
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.registry.services import addresses
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent

log = logging.getLogger(__name__)

_NAMESPACE, _NAME, _PORT = "default", "kubernetes", 443


def publish(api: Api, host: str, port: int) -> None:
    """Create what is missing, and update the endpoint: the server may listen elsewhere than before.

    What cannot be made (somebody may have taken the address) is logged, as kube-apiserver does.
    """
    try:
        _publish(api, host, port)
    except StatusError as error:
        log.error("the service %s/%s cannot be made: %s; delete what is in its way", _NAMESPACE, _NAME, error.message)


def _publish(api: Api, host: str, port: int) -> None:
    _ensure(api, "networking.k8s.io", "servicecidrs", None, _range())
    _ensure(api, "", "services", _NAMESPACE, _service(port))
    _ensure(api, "", "endpoints", _NAMESPACE, _endpoints(host, port), following="subsets")
    _ensure(api, "discovery.k8s.io", "endpointslices", _NAMESPACE, _endpoint_slice(host, port), following="ports")


def _ensure(api: Api, group: str, plural: str, namespace: str | None, wanted: Object, *, following: str = "") -> None:
    """Create an object, or replace it if its field ``following`` is not as wanted."""
    served = api.catalog.find(group, "v1", plural)
    assert served is not None
    stored = served.collection.get(namespace or "", _NAME)
    status, wanted = wanted.get("status"), {"metadata": {"name": _NAME}, **wanted}
    if namespace is not None:
        wanted["metadata"]["namespace"] = namespace
    intent = Intent(writer=Writer(managers.SERVER, served.kind))
    key = namespace or "", _NAME
    if stored is None:
        writes.create(api, served, namespace, wanted, intent)
        if status is not None:
            writes.update(api, served, key, lambda obj: {**obj, "status": status}, intent, subresource="status")
    elif following and stored.object().get(following) != wanted[following]:
        writes.update(api, served, key, lambda obj: {**obj, **wanted, "metadata": obj["metadata"]}, intent)


def _range() -> Object:
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": metadata.timestamp(),
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {"spec": {"cidrs": [str(addresses.RANGE)]}, "status": {"conditions": [ready]}}


def _service(port: int) -> Object:
    return {
        "metadata": {"name": _NAME, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": addresses.FIRST,
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "protocol": "TCP", "port": _PORT, "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }


def _endpoints(host: str, port: int) -> Object:
    return {
        # The server makes the EndpointSlice, so no controller may mirror it.
        "metadata": {"name": _NAME, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": host}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
    }


def _endpoint_slice(host: str, port: int) -> Object:
    return {
        "metadata": {"name": _NAME, "labels": {"kubernetes.io/service-name": _NAME}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
