"""DRAWorkloadResourceClaims (KEP-5729): one claim for all pods of a group, which is its consumer."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS, Resource
from drakit_kind.clusters.manifests import claim_template, pod, request
from e2e.matrix.stage import Stage

_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
_DRIVER = "group.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices: [{{name: device-0}}]
"""


def _member(name: str) -> Object:
    member = pod(name, template="shared")
    member["spec"]["schedulingGroup"] = {"podGroupName": "group"}
    return member


def _keeps_claims(stage: Stage, group: str) -> bool:
    """Create a group; whether the API server keeps what it says of claims."""
    template = {"name": "device", "resourceClaimTemplateName": "shared"}
    spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": [template]}
    created = stage.api.create({"metadata": {"name": group}, "spec": spec}, resource=_GROUPS)
    return "resourceClaims" in created["spec"]


def _claims(stage: Stage) -> dict[str, list[tuple[str, str]]]:
    """Each claim with its consumers."""
    return {
        stored["metadata"]["name"]: [
            (consumer["resource"], consumer["name"]) for consumer in stored["status"]["reservedFor"]
        ]
        for stored in stage.api.objects(RESOURCE_CLAIMS)
    }


def rollout(stage: Stage) -> Iterator[None]:
    """On; off everywhere, and no new pod of the group gets its claim; on again."""
    stage.layout(_DEVICES)
    stage.api.create(claim_template("shared", request("device", _DRIVER)))
    assert _keeps_claims(stage, "group")
    stage.api.create(_member("first"), _member("second"))
    assert [*stage.started("first"), *stage.started("second")] == ["device-0", "device-0"]
    shared = _claims(stage)
    assert list(shared.values()) == [[("podgroups", "group")]]
    yield

    assert not _keeps_claims(stage, "without")
    stage.api.create(_member("late"))
    why = "claim device is a PodGroup claim but the DRAWorkloadResourceClaims feature is disabled"
    stage.api.wait_event("late", "FailedResourceClaimCreation", containing=why)
    stage.ends("second")
    assert _claims(stage) == shared
    yield

    assert stage.started("late") == ["device-0"]
    assert _claims(stage) == shared
    stage.ends("first", "late")
    stage.api.delete(_GROUPS, "group")
    stage.api.wait_gone(RESOURCE_CLAIMS, shared)
    assert _keeps_claims(stage, "another")
