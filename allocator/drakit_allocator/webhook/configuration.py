"""How an API server gets to know the webhook: a ValidatingWebhookConfiguration.

If the webhook does not answer, patches are taken unless it is said otherwise. A selector that does not compile does no
harm: its patch applies to no device, and an event says why. That a patch cannot be written while its check is away does
harm, as patches are what a cluster is repaired with.
"""

from __future__ import annotations

import base64
from typing import Literal

from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import GROUP, VERSION

FailurePolicy = Literal["Ignore", "Fail"]

# Of the webhook in a pod, and of one that a process on the API server's machine has registered.
IN_CLUSTER, BY_URL = "drakit-slice-patches", "drakit-slice-patches-by-url"
PATH = "/validate"
_SECONDS = 5


def of_service(service: Object, certificate: bytes, failure_policy: FailurePolicy) -> Object:
    """Build the configuration for a Service of the cluster; ``certificate`` is what to trust there, as PEM."""
    return _configuration(IN_CLUSTER, {"service": {**service, "path": PATH}}, certificate, failure_policy)


def of_url(url: str, certificate: bytes, failure_policy: FailurePolicy) -> Object:
    """Build the configuration for a URL that the API server can reach."""
    return _configuration(BY_URL, {"url": url}, certificate, failure_policy)


def _configuration(name: str, where: Object, certificate: bytes, failure_policy: FailurePolicy) -> Object:
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": [VERSION],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["resourceslicepatches"],
        "scope": "Cluster",
    }
    webhook = {
        "name": f"selectors.{GROUP}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {**where, "caBundle": base64.b64encode(certificate).decode()},
        "failurePolicy": failure_policy,
        "matchPolicy": "Equivalent",
        "rules": [rule],
        "sideEffects": "None",
        "timeoutSeconds": _SECONDS,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
