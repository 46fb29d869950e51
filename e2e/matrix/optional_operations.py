"""DRAOptionalNodeOperations (KEP-5945): devices that need nothing done on their node, so no driver is called."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES, RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_GATE = "DRAOptionalNodeOperations"
_DRIVER = "virtual.example.com"
_DEVICES = f"""
driver: {_DRIVER}
skipNodeOperations: ["*"]
devices: [{{name: virtual-0}}, {{name: virtual-1}}, {{name: virtual-2}}, {{name: virtual-3}}]
"""
_NOTHING_FITS = "cannot allocate all claims"


def _one(name: str) -> Object:
    return claim(name, request("device", _DRIVER))


def _calls(stage: Stage, name: str) -> int:
    (driver,) = stage.drivers
    return len(driver.prepare_calls(stage.api.get(RESOURCE_CLAIMS, name)["metadata"]["uid"]))


def _declared(stage: Stage) -> list[str]:
    features: list[str] = stage.api.get(NODES, stage.node)["status"].get("declaredFeatures") or []
    return features


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; in the kubelet; in all and the API server, and the slices wiped; on everywhere."""
    driver = stage.layout(_DEVICES)
    assert _GATE in _declared(stage)
    stage.runs(_one("first"))
    (result,) = stage.results("first")
    assert (result["skipNodeOperations"], _calls(stage, "first")) == (["*"], 0)
    yield

    # It does not see what the slices say, and the driver is called as for any device.
    stage.runs(_one("plain"))
    (result,) = stage.results("plain")
    assert ("skipNodeOperations" in result, _calls(stage, "plain")) == (False, 1)
    yield

    # A kubelet that would call the driver says so by not declaring the feature.
    stage.api.wait(NODES, stage.node, lambda node: _GATE not in (node["status"].get("declaredFeatures") or []))
    stage.ledger(driver)  # the devices are there, and their slice says what the kubelet does not know
    stage.waits(_one("second"), _NOTHING_FITS)
    yield

    line = stage.told(driver, f"pool {stage.node}: the API server dropped spec.skipNodeOperations")
    assert line.endswith(f"disabled features there: {_GATE}")
    stage.started("second")
    (result,) = stage.results("second")
    assert ("skipNodeOperations" in result, _calls(stage, "second")) == (False, 1)
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps all fields now")
    stage.runs(_one("third"))
    assert _calls(stage, "third") == 0
