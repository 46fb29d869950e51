"""What to wait for after a restart of the API server, before pods come and go."""

from __future__ import annotations

from drakit_client.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import claim_template, pod, request

# Watches that found no API server are tried again after up to half a minute.
_SECONDS = 60.0
_PROBE = "probe"


def await_controllers(api: Api) -> None:
    """Wait until the controllers see new pods.

    After a restart of the API server, kube-controller-manager's watches come back one by one, up to seconds later.
    What has come and gone by then it never hears of: a claim stays reserved for such a pod (``syncClaim`` in
    pkg/controller/resourceclaim/controller.go, 1.37.1).
    """
    template = claim_template(_PROBE, request("nothing", f"{_PROBE}.example.com"))
    api.create(template, pod(_PROBE, template=_PROBE))
    seen = api.wait(
        PODS,
        _PROBE,
        lambda seen: bool((seen.get("status") or {}).get("resourceClaimStatuses")),
        what="given its claim",
        timeout=_SECONDS,
    )
    api.delete(PODS, _PROBE)
    api.delete(RESOURCE_CLAIM_TEMPLATES, _PROBE)
    claims = [status["resourceClaimName"] for status in seen["status"]["resourceClaimStatuses"]]
    api.wait_gone(RESOURCE_CLAIMS, claims, timeout=_SECONDS)
