"""DRADerivedAttributes (KEP-6080): devices of different vendors that are matched by what a claim computes of them."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_DRIVER = "derived.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices:
- {{name: gpu-0, attributes: {{kind: {{string: gpu}}, socket: {{int: 0}}}}}}
- {{name: gpu-1, attributes: {{kind: {{string: gpu}}, socket: {{int: 1}}}}}}
- {{name: nic-1, attributes: {{kind: {{string: nic}}, numa: {{string: numa-1}}}}}}
- {{name: nic-0, attributes: {{kind: {{string: nic}}, numa: {{string: numa-0}}}}}}
"""
_NOTHING_FITS = "cannot allocate all claims"
_ALIGNED = "derived/numa"


def _derived(kind: str, expression: str) -> Object:
    attribute = {"name": _ALIGNED, "expression": expression}
    return request(kind, _DRIVER, f"device.attributes['{_DRIVER}'].kind == '{kind}'", derivedAttributes=[attribute])


def _pair(name: str) -> Object:
    """A GPU and a NIC of the same NUMA node, which each of them tells in its own way."""
    gpu = _derived("gpu", f"'numa-' + string(device.attributes['{_DRIVER}'].socket)")
    nic = _derived("nic", f"device.attributes['{_DRIVER}'].numa")
    return claim(name, gpu, nic, match_attribute=_ALIGNED)


def _derives(stored: Object) -> list[bool]:
    return ["derivedAttributes" in each["exactly"] for each in stored["spec"]["devices"]["requests"]]


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert stage.runs(_pair("first")) == ["gpu-0", "nic-0"]
    stage.api.create(_pair("stored"))
    yield

    stage.creates_pod("second", "stored")
    stage.not_scheduled("second", "cannot handle request with derived attributes, the feature is disabled")
    yield

    stage.ledger(driver)  # the kubelet has wiped the slices, and the devices are there again
    stage.waits(_pair("dropped"), _NOTHING_FITS)
    assert _derives(stage.api.get(RESOURCE_CLAIMS, "dropped")) == [False, False]
    kept = stage.api.get(RESOURCE_CLAIMS, "stored")
    assert _derives(stage.api.replace(kept)) == [True, True]
    yield

    assert stage.started("second") == ["gpu-1", "nic-1"]
    assert _derives(stage.api.create(_pair("after"))) == [True, True]
