"""DRAConsumableCapacity (KEP-5075): a device that several claims share, each with a part of its capacity."""

from __future__ import annotations

from collections.abc import Iterator

from kubernetes.utils.quantity import parse_quantity

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "nic.example.com"
_NIC = """
  allowMultipleAllocations: true
  capacity: {bandwidth: {value: 10G, requestPolicy: {default: 1G, validRange: {min: 1G, step: 1G, max: 10G}}}}
"""
_DEVICES = f"""
driver: {_DRIVER}
devices:
- name: nic-0{_NIC}  attributes: {{port: {{string: left}}}}
- name: nic-1{_NIC}  attributes: {{port: {{string: left}}}}
- name: nic-2{_NIC}  attributes: {{port: {{string: right}}}}
"""
_NOTHING_FITS = "cannot allocate all claims"
_SCHEDULER_SAYS = "has capacity requests, but the DRAConsumableCapacity feature is disabled"


def _part(name: str, bandwidth: str) -> Object:
    return claim(name, request("device", _DRIVER, capacity={"requests": {"bandwidth": bandwidth}}))


def _on_two_ports(name: str, bandwidth: str) -> Object:
    parts = [request(side, _DRIVER, capacity={"requests": {"bandwidth": bandwidth}}) for side in ("one", "other")]
    apart = claim(name, *parts)
    apart["spec"]["devices"]["constraints"] = [{"distinctAttribute": f"{_DRIVER}/port"}]
    return apart


def _whole(name: str) -> Object:
    return claim(name, request("device", _DRIVER))


def _consumes(stage: Stage, name: str, bandwidth: str) -> bool:
    """Whether a claim's status says so, in whatever unit: that of 1.36 is another one than 1.37's."""
    (result,) = stage.results(name)
    assert "shareID" in result
    assert result["consumedCapacity"].keys() == {"bandwidth"}
    return bool(parse_quantity(result["consumedCapacity"]["bandwidth"]) == parse_quantity(bandwidth))


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert stage.runs(_part("six", "6G")) == ["nic-0"]
    assert stage.runs(_part("four", "4G")) == ["nic-0"]
    assert _consumes(stage, "six", "6G")
    assert _consumes(stage, "four", "4G")
    # One device has room for both, and they are to have none in common, nor its port.
    assert stage.runs(_on_two_ports("apart", "1G")) == ["nic-1", "nic-2"]
    stage.ends("apart")
    yield

    stage.waits(_part("two", "2G"), _SCHEDULER_SAYS)
    # What is shared is taken, and what is taken now is not shared.
    assert stage.runs(_whole("whole")) == ["nic-1"]
    (result,) = stage.results("whole")
    assert {"shareID", "consumedCapacity"} & result.keys() == set()
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.devices[].allowMultipleAllocations (3)")
    assert "spec.devices[].capacity.bandwidth.requestPolicy (3)" in line
    assert line.endswith("disabled features there: DRAConsumableCapacity")
    assert stage.runs(_part("late", "1G")) == ["nic-2"]
    stored = stage.api.get(RESOURCE_CLAIMS, "late")
    assert "capacity" not in stored["spec"]["devices"]["requests"][0]["exactly"]
    assert _consumes(stage, "six", "6G")
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    # The devices that were given out as a whole meanwhile are not shared after the fact.
    stage.not_scheduled("two", _NOTHING_FITS)
    stage.ends("four")
    assert stage.started("two") == ["nic-0"]
    assert _consumes(stage, "two", "2G")
    stage.ends("whole")
    # Without a request it is the default.
    assert stage.runs(_whole("default")) == ["nic-0"]
    assert _consumes(stage, "default", "1G")
