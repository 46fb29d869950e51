"""DRAResourceSliceMixins, the kit's own gate: slices as seed 004 has them, on servers that keep mixins or do not.

A driver that has the gate publishes mixins where the API server keeps them, and flattens its pools elsewhere, so that
the devices are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

_GATE = "DRAResourceSliceMixins"
_DRIVER = "mixed.example.com"
# One GPU, whole or in four partitions, as in the seed's first example of a partitionable device.
_DEVICES = f"""
driver: {_DRIVER}
sharedCounters: [{{name: gpu-0, counters: {{memory: {{value: 40Gi}}}}}}]
mixins:
  device:
  - {{name: partition, attributes: {{type: {{string: partition}}}}, capacity: {{memory: {{value: 10Gi}}}}}}
  deviceCounterConsumption:
  - {{name: quarter, counters: {{memory: {{value: 10Gi}}}}}}
devices:
- {{name: part-0, includes: [partition], consumesCounters: [{{counterSet: gpu-0, includes: [quarter]}}]}}
- {{name: part-1, includes: [partition], consumesCounters: [{{counterSet: gpu-0, includes: [quarter]}}]}}
- {{name: part-2, includes: [partition], consumesCounters: [{{counterSet: gpu-0, includes: [quarter]}}]}}
- {{name: part-3, includes: [partition], consumesCounters: [{{counterSet: gpu-0, includes: [quarter]}}]}}
- name: whole
  attributes: {{type: {{string: gpu}}}}
  consumesCounters: [{{counterSet: gpu-0, counters: {{memory: {{value: 40Gi}}}}}}]
"""
_NOTHING_FITS = "cannot allocate all claims"


def _one(name: str, kind: str) -> Object:
    return claim(name, request("device", _DRIVER, f"device.attributes['{_DRIVER}'].?type.orValue('') == '{kind}'"))


def _published_with_mixins(stage: Stage) -> bool:
    slices = stage.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={_DRIVER}")
    assert slices
    return any("mixins" in each["spec"] for each in slices)


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    driver = stage.layout(_DEVICES, gates={_GATE: True})
    assert _published_with_mixins(stage)
    assert stage.runs(_one("first", "partition")) == ["part-0"]
    stage.waits(_one("gpu", "gpu"), _NOTHING_FITS)
    yield

    # Without what they include, partitions are none, and take nothing: only the driver knows better.
    stage.waits(_one("second", "partition"), _NOTHING_FITS)
    stage.api.wait_event("gpu", "FailedPrepareDynamicResources", containing="is over-committed")
    stage.ends("gpu")
    yield

    stage.told(driver, f"pool {stage.node}: the API server does not keep mixins, publishing the pool flattened")
    assert stage.started("second") == ["part-1"]
    assert not _published_with_mixins(stage)
    stage.ledger(driver).check()
    yield

    stage.told(driver, f"pool {stage.node}: the API server keeps mixins now")
    assert stage.runs(_one("third", "partition")) == ["part-2"]
    assert _published_with_mixins(stage)
    stage.waits(_one("again", "gpu"), _NOTHING_FITS)
    stage.ends("first", "second", "third")
    assert stage.started("again") == ["whole"]


def flattened(stage: Stage) -> Iterator[None]:
    """A driver that has the gate in a cluster that knows no mixins, also after the kubelet has wiped the slices."""
    driver = stage.layout(_DEVICES, gates={_GATE: True})
    stage.told(driver, f"pool {stage.node}: the API server does not keep mixins, publishing the pool flattened")
    assert stage.runs(_one("first", "partition")) == ["part-0"]
    stage.waits(_one("gpu", "gpu"), _NOTHING_FITS)
    yield

    assert stage.runs(_one("second", "partition")) == ["part-1"]
    assert not _published_with_mixins(stage)
    stage.ledger(driver).check()
    stage.ends("first", "second")
    assert stage.started("gpu") == ["whole"]
