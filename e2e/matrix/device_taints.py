"""DRADeviceTaints and DRADeviceTaintRules (KEP-5055): devices that are kept free while somebody knows about taints."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.clusters.manifests import claim, request
from e2e.fence import await_controllers
from e2e.matrix.stage import Stage

_DRIVER = "tainted.example.com"
_KEY = "example.com/broken"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- {{name: broken-0, attributes: {{state: {{string: broken}}}}, taints: [{{key: {_KEY}, effect: NoSchedule}}]}}
- {{name: broken-1, attributes: {{state: {{string: broken}}}}, taints: [{{key: {_KEY}, effect: NoSchedule}}]}}
- {{name: broken-2, attributes: {{state: {{string: broken}}}}, taints: [{{key: {_KEY}, effect: NoSchedule}}]}}
- {{name: good-0, attributes: {{state: {{string: good}}}}}}
- {{name: good-1, attributes: {{state: {{string: good}}}}}}
"""
_NOTHING_FITS = "cannot allocate all claims"
_TOLERATION = {"key": _KEY, "operator": "Exists"}


def _device(name: str, state: str, *tolerations: Object) -> Object:
    fields = {"tolerations": list(tolerations)} if tolerations else {}
    return claim(name, request("device", _DRIVER, f"device.attributes['{_DRIVER}'].state == '{state}'", **fields))


def _rule(name: str, effect: str, **selector: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {"deviceSelector": {"driver": _DRIVER, **selector}, "taint": {"key": _KEY, "effect": effect}},
    }


def _taints(slices: list[Object]) -> int:
    return sum(bool(device.get("taints")) for each in slices for device in each["spec"].get("devices") or [])


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert stage.runs(_device("tolerant", "broken", _TOLERATION)) == ["broken-0"]
    stage.waits(_device("careful", "broken"), _NOTHING_FITS)
    yield

    # Nobody keeps tainted devices free any more.
    assert stage.started("careful") == ["broken-1"]
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.devices[].taints (3)")
    assert line.endswith("disabled features there: DRADeviceTaints")
    stage.creates(_device("late", "broken", _TOLERATION))
    stored = stage.api.get(RESOURCE_CLAIMS, "late")
    assert "tolerations" not in stored["spec"]["devices"]["requests"][0]["exactly"]
    assert stage.started("late") == ["broken-2"]
    kept = stage.api.get(RESOURCE_CLAIMS, "tolerant")
    assert stage.api.replace(kept)["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] == [_TOLERATION]
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    stage.api.wait_all(RESOURCE_SLICES, lambda seen: _taints(seen) == 3, what="published with taints again")
    stage.ends("careful", "late")
    # What was stored without its toleration stays without it.
    stage.creates_pod("late-again", "late")
    stage.not_scheduled("late-again", _NOTHING_FITS)
    stage.waits(_device("careful-again", "broken"), _NOTHING_FITS)
    assert stage.runs(_device("tolerant-again", "broken", _TOLERATION)) == ["broken-1"]


def rules(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler alone, which then sees the taints of slices only; on again."""
    stage.layout(_DEVICES)
    stage.api.create(_rule("all-good", "NoSchedule", pool=stage.node))
    stage.waits(_device("good", "good"), _NOTHING_FITS)
    assert stage.runs(_device("tolerant", "good", _TOLERATION)) == ["good-0"]
    yield

    assert stage.started("good") == ["good-1"]
    stage.waits(_device("broken", "broken"), _NOTHING_FITS)
    yield

    stage.ends("good")
    stage.waits(_device("again", "good"), _NOTHING_FITS)
    stage.api.delete(DEVICE_TAINT_RULES, "all-good")
    assert stage.started("again") == ["good-1"]


_FAILING = f"""
driver: {_DRIVER}
devices:
- {{name: good-0, attributes: {{state: {{string: good}}}}}}
- {{name: good-1, attributes: {{state: {{string: good}}}}}}
- {{name: failing-0, attributes: {{state: {{string: failing}}}}, taints: [{{key: {_KEY}, effect: NoExecute}}]}}
- {{name: failing-1, attributes: {{state: {{string: failing}}}}, taints: [{{key: {_KEY}, effect: NoExecute}}]}}
"""


def _tolerated_for(seconds: int) -> Object:
    return {**_TOLERATION, "effect": "NoExecute", "tolerationSeconds": seconds}


def eviction(stage: Stage) -> Iterator[None]:
    """On, and taints of a rule and of a slice evict; rules off in the controllers; taints off there; on again."""
    stage.layout(_FAILING)
    stage.runs(_device("patient", "failing", _tolerated_for(3600)))
    _slices_evict(stage, "hasty")
    stage.runs(_device("first", "good"))
    # To be left alone takes a toleration of this very effect; one of all effects counts for scheduling only.
    stage.runs(_device("tolerant", "good", {**_TOLERATION, "effect": "NoExecute"}))
    stage.api.create(_rule("all-good", "NoExecute", pool=stage.node))
    stage.evicted("first")
    yield

    stage.api.delete(DEVICE_TAINT_RULES, "all-good")
    stage.runs(_device("unruled", "good"))
    stage.api.create(_rule("all-good", "NoExecute", pool=stage.node))
    _slices_evict(stage, "hasty-still")
    stage.check_survivors()
    stage.ends("unruled")
    yield

    stage.api.delete(DEVICE_TAINT_RULES, "all-good")
    stage.runs(_device("second", "good"))
    stage.api.create(_rule("all-good", "NoExecute", pool=stage.node))
    stage.waits(_device("third", "good"), _NOTHING_FITS)
    _slices_leave_alone(stage, "hasty-again")
    stage.lets_go("second", "hasty-again")
    yield

    stage.evicted("second")
    stage.evicted("hasty-again")


def eviction_by_slices(stage: Stage) -> Iterator[None]:
    """On, and the taint of a slice evicts; off in the controllers, which leave pods alone; on again."""
    stage.layout(_FAILING)
    stage.runs(_device("patient", "failing", _tolerated_for(3600)))
    _slices_evict(stage, "hasty")
    yield

    _slices_leave_alone(stage, "hasty-again")
    stage.lets_go("hasty-again")
    yield

    stage.evicted("hasty-again")


def _slices_evict(stage: Stage, name: str) -> None:
    stage.creates(_device(name, "failing", _tolerated_for(1)))
    stage.evicted(name)


def _slices_leave_alone(stage: Stage, name: str) -> None:
    """The second for which its toleration holds began when the taint was set, long ago."""
    stage.runs(_device(name, "failing", _tolerated_for(1)))
    # What other controllers do with a pod that came later takes longer than an eviction.
    await_controllers(stage.api)
    stage.check_survivors()
