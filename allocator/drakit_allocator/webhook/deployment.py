"""The webhook as a pod of the cluster: its objects, with a certificate that is made once and kept in a Secret."""

from __future__ import annotations

import base64
from importlib import resources

import yaml

from drakit_allocator.webhook.configuration import BY_URL, IN_CLUSTER, FailurePolicy, of_service
from drakit_api.kubernetes_objects import Object
from drakit_client.certificates import self_signed

NAME, NAMESPACE = "drakit-patch-webhook", "drakit-system"
IMAGE = "drakit:latest"
_CERTIFICATE, _KEY = "tls.crt", "tls.key"


def objects(secret: Object | None, image: str, failure_policy: FailurePolicy) -> list[Object]:
    """Build all objects in the order in which they are applied; ``secret`` is the one that is there, if it is.

    The API server calls the webhook last, when all else is there.
    """
    namespace, service, deployment = _documents()
    wanted = _secret(secret)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = image
    certificate = base64.b64decode(wanted["data"][_CERTIFICATE])
    reached = {"name": NAME, "namespace": NAMESPACE, "port": 443}
    configuration = of_service(reached, certificate, failure_policy)
    return [namespace, wanted, service, deployment, configuration]


def leftovers() -> list[Object]:
    """Name all objects that may have to go, first those by which the API server calls; the namespace has others."""
    _, service, deployment = _documents()
    called = [{"kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}} for name in (IN_CLUSTER, BY_URL)]
    secret = {"kind": "Secret", "metadata": {"name": NAME, "namespace": NAMESPACE}}
    return [*called, deployment, service, secret]


def _documents() -> list[Object]:
    return list(yaml.safe_load_all(resources.files(__package__).joinpath("deployment.yaml").read_text()))


def _secret(stored: Object | None) -> Object:
    """Take over the certificate that there is, or make one for the names that the Service has in the cluster."""
    data = (stored or {}).get("data") or {}
    if not (data.get(_CERTIFICATE) and data.get(_KEY)):
        hosts = [f"{NAME}.{NAMESPACE}.svc", f"{NAME}.{NAMESPACE}.svc.cluster.local"]
        pems = dict(zip((_CERTIFICATE, _KEY), self_signed(hosts), strict=True))
        data = {name: base64.b64encode(pem).decode() for name, pem in pems.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "type": "kubernetes.io/tls",
        "data": {name: data[name] for name in (_CERTIFICATE, _KEY)},
    }
