"""Stands in for cert-manager: charts with webhooks ask it for certificates, and it needs containers.

Its kinds are those of its own definitions in their names only; of a Certificate it does what cert-manager does: a
Secret with a key, and its authority in the webhooks that ask for it by annotation (cert-manager's cainjector).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from drakit_kind.clusters.api import Api
from drakit_kind.control_plane.authority import Authority, KeyPair

_GROUP = "cert-manager.io"
_INJECTED = f"{_GROUP}/inject-ca-from"
_KINDS = ("Certificate", "Issuer")
CERTIFICATES = Resource(_GROUP, "v1", "certificates", "Certificate")
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@contextmanager
def defined(api: Api) -> Iterator[None]:
    """Let the cluster have the kinds of cert-manager until the end of the block."""
    definitions = [_definition(kind) for kind in _KINDS]
    try:
        for each in definitions:
            api.create(each)
            api.wait(CUSTOM_RESOURCE_DEFINITIONS, each["metadata"]["name"], _is_established, what="Established")
        yield
    finally:
        for each in definitions:
            api.delete(CUSTOM_RESOURCE_DEFINITIONS, each["metadata"]["name"])


def issue(api: Api, certificate: str, directory: Path) -> KeyPair:
    """Issue what a Certificate asks for; the files are in ``directory``."""
    wanted = api.wait(CERTIFICATES, certificate)["spec"]
    authority = Authority(directory)
    pair = authority.issue(certificate, user=wanted["dnsNames"][0], hosts=wanted["dnsNames"])
    data = {"tls.crt": _encoded(pair.certificate), "tls.key": _encoded(pair.key)}
    named = {"name": wanted["secretName"]}
    api.create({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": named, "data": data})
    for found in api.objects(WEBHOOKS):
        if (found["metadata"].get("annotations") or {}).get(_INJECTED) == f"{api.namespace}/{certificate}":
            for each in found["webhooks"]:
                each["clientConfig"]["caBundle"] = _encoded(authority.certificate)
            api.patch(WEBHOOKS, found["metadata"]["name"], {"webhooks": found["webhooks"]})
    return pair


def _definition(kind: str) -> Object:
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _is_established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
