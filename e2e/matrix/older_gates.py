"""Gates that are locked by now, where they can still be switched: older emulated versions and older releases."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEVICE_CLASSES, NAMESPACES, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, pod, request
from e2e.matrix.stage import Stage

_DRIVER = "older.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices: [{{name: device-0}}, {{name: device-1}}]
"""


def _one(name: str, **fields: object) -> Object:
    return claim(name, request("device", _DRIVER, **fields))


def admin_access(stage: Stage) -> Iterator[None]:
    """DRAAdminAccess: an administrator looks at a device in use; off in the scheduler; in the API server; on again."""
    stage.layout(_DEVICES)
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    stage.api.patch(NAMESPACES, "default", label)
    assert stage.runs(_one("user")) == ["device-0"]
    assert stage.runs(_one("admin", adminAccess=True)) == ["device-0"]
    assert [result.get("adminAccess") for result in stage.results("admin")] == [True]
    yield

    stage.waits(_one("late", adminAccess=True), "admin access is requested, but the feature is disabled")
    yield

    # What was stored is for the scheduler to decide.
    assert stage.started("late") == ["device-0"]
    assert stage.runs(_one("dropped", adminAccess=True)) == ["device-1"]
    stored = stage.api.get(RESOURCE_CLAIMS, "dropped")
    assert "adminAccess" not in stored["spec"]["devices"]["requests"][0]["exactly"]
    yield

    assert stage.runs(_one("again", adminAccess=True)) == ["device-0"]


def device_status(stage: Stage) -> Iterator[None]:
    """DRAResourceClaimDeviceStatus: on, and a driver tells of its device; off in the API server; on again."""
    stage.layout(_DEVICES)
    stage.runs(_one("told"))
    stage.runs(_one("silent"))
    _tell(stage, "told")
    assert _told(stage) == {"told": True, "silent": False}
    yield

    _tell(stage, "silent")
    # What is there stays, what is new is dropped.
    assert _told(stage) == {"told": True, "silent": False}
    yield

    _tell(stage, "silent")
    assert _told(stage) == {"told": True, "silent": True}


def _tell(stage: Stage, name: str) -> None:
    stored = stage.api.get(RESOURCE_CLAIMS, name)
    (result,) = stage.results(name)
    device = {key: result[key] for key in ("driver", "pool", "device")} | {"data": {"link": "up"}}
    stage.api.replace({**stored, "status": {**stored["status"], "devices": [device]}}, subresource="status")


def _told(stage: Stage) -> dict[str, bool]:
    claims = {name: stage.api.get(RESOURCE_CLAIMS, name) for name in ("told", "silent")}
    return {name: "devices" in stored["status"] for name, stored in claims.items()}


_EXTENDED = "example.com/older"


def _asks(name: str) -> Object:
    created = pod(name)
    created["spec"]["containers"][0]["resources"] = {"limits": {_EXTENDED: "1"}, "requests": {_EXTENDED: "1"}}
    return created


def extended_resource(stage: Stage) -> Iterator[None]:
    """DRAExtendedResource: on, and a pod asks as for a device plugin; off everywhere; on again."""
    stage.layout(_DEVICES)
    stage.api.patch(DEVICE_CLASSES, _DRIVER, {"spec": {"extendedResourceName": _EXTENDED}})
    stage.api.create(_asks("first"))
    assert stage.started("first") == ["device-0"]
    assert "extendedResourceClaimStatus" in stage.api.get(PODS, "first")["status"]
    yield

    other = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "other.example.com"},
        "spec": {"extendedResourceName": "example.com/other"},
    }
    assert "extendedResourceName" not in stage.api.create(other)["spec"]
    stage.api.create(_asks("second"))
    stage.not_scheduled("second", f"Insufficient {_EXTENDED}")
    yield

    assert stage.started("second") == ["device-1"]
