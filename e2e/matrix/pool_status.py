"""DRAResourcePoolStatus and DRAPartitionableDevicesType (KEP-5677): asking the cluster what is left in a pool."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_SLICES, Resource
from drakit_kind.clusters.manifests import claim, request
from e2e.fence import await_controllers
from e2e.matrix.stage import Stage

_REQUESTS = Resource(
    "resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests", "ResourcePoolStatusRequest", namespaced=False
)
_DRIVER = "halves.example.com"
_TYPE = f"{_DRIVER}/size"


def _device(name: str, size: str, memory: int) -> str:
    consumes = f"{{counterSet: gpu-0, counters: {{memory: {{value: {memory}}}}}}}"
    return f"- {{name: {name}, attributes: {{size: {{string: {size}}}}}, consumesCounters: [{consumes}]}}"


_DEVICES = "\n".join(
    [
        f"driver: {_DRIVER}",
        f"partitionTypeAttribute: {_TYPE}",
        "sharedCounters: [{name: gpu-0, counters: {memory: {value: 2}}}]",
        "devices:",
        _device("half-0", "half", 1),
        _device("half-1", "half", 1),
        _device("full", "full", 2),
    ]
)


def _types(stage: Stage) -> set[str | None]:
    slices = stage.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={_DRIVER}")
    return {each["spec"].get("partitionTypeAttribute") for each in slices if each["spec"].get("devices")}


def _one(name: str, size: str) -> Object:
    return claim(name, request("device", _DRIVER, f"device.attributes['{_DRIVER}'].size == '{size}'"))


def _ask(stage: Stage, name: str) -> None:
    asked = {"metadata": {"name": name}, "spec": {"driver": _DRIVER}}
    stage.api.create(asked, resource=_REQUESTS)


def _answer(stage: Stage, name: str) -> Object:
    answered = stage.api.wait(_REQUESTS, name, lambda seen: bool(seen.get("status")), what="answered")
    (pool,) = answered["status"]["pools"]
    found: Object = pool
    return found


def partition_types(stage: Stage) -> Iterator[None]:
    """On; off in the API server, which gets all slices anew; on again."""
    driver = stage.layout(_DEVICES)
    assert _types(stage) == {_TYPE}
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.partitionTypeAttribute")
    assert line.endswith("disabled features there: DRAPartitionableDevicesType")
    assert _types(stage) == {None}
    assert stage.runs(_one("half", "half")) == ["half-0"]
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    assert _types(stage) == {_TYPE}


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the controllers, so that nobody answers; on again."""
    stage.layout(_DEVICES)
    assert stage.runs(_one("half", "half")) == ["half-0"]
    _ask(stage, "first")
    pool = _answer(stage, "first")
    assert (pool["totalDevices"], pool["allocatedDevices"]) == (3, 1)
    summary = {each["type"]: (each["total"], each["allocatable"]) for each in pool["partitionSummary"]}
    assert summary == {"half": (2, 1), "full": (1, 0)}
    yield

    _ask(stage, "second")
    # What other controllers do with a pod that came later takes longer than an answer.
    await_controllers(stage.api)
    assert "status" not in stage.api.get(_REQUESTS, "second")
    yield

    # What was asked meanwhile is answered.
    assert _answer(stage, "second")["allocatedDevices"] == 1
