"""DRAPartitionableDevices (KEP-4815): partitions while parts of the control plane know nothing of counters.

A driver must survive a rollback: what it publishes loses its counters on the way, it has to say so, and to publish
them again once they are kept. What is prepared by then cannot be taken twice: the driver is the last who knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS, RESOURCE_SLICES
from drakit_kind.clusters.manifests import claim, request
from e2e.hardware import Gpus
from e2e.matrix.stage import Stage

# The scheduler does not look at such devices, so all that it can say is that nothing fits.
_NOTHING_FITS = "cannot allocate all claims"
# After which a container ends: about as long as it takes to get into the phase in which it matters.
_SECONDS = 10
_PLAIN_DRIVER = "plain.example.com"
_PLAIN = f"""
driver: {_PLAIN_DRIVER}
devices: [{{name: plain-0}}, {{name: plain-1}}]
"""


def _slices(stage: Stage, driver: str) -> list[Object]:
    return stage.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")


def _has_counters(slices: list[Object], driver: str) -> bool:
    return any(each["spec"].get("sharedCounters") for each in slices if each["spec"]["driver"] == driver)


def _one(gpu: Gpus, name: str, profile: str, uuid: str) -> Object:
    """A claim for one partition of the GPU with this UUID."""
    return claim(name, gpu.partition(profile, on=uuid))


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the scheduler; off in the API server too, and the kubelet wipes the slices; on everywhere."""
    gpu = stage.gpus(2)
    stage.layout(_PLAIN)
    published = stage.ledger(gpu.driver).devices
    first, second = (published[stage.node, f"gpu-{minor}"]["attributes"]["uuid"]["string"] for minor in (0, 1))
    stage.runs(_one(gpu, "half", "3g.20gb", first))
    (small,) = stage.runs_for(_SECONDS, _one(gpu, "small", "1g.5gb", first))
    stage.waits(_one(gpu, "too-large", "4g.20gb", first), _NOTHING_FITS)
    prepared = set(gpu.driver.cdi_files(stage.node))
    yield

    stage.waits(_one(gpu, "uncounted", "1g.5gb", first), _NOTHING_FITS)
    assert stage.runs(claim("plain", request("device", _PLAIN_DRIVER))) == ["plain-0"]
    assert stage.ledger(gpu.driver).devices == published
    yield

    told = f"pool {stage.node}: the API server dropped spec.devices[].consumesCounters"
    line = stage.told(gpu.driver, told)
    assert "spec.sharedCounters" in line
    assert line.endswith("disabled features there: DRAPartitionableDevices")
    assert not _has_counters(_slices(stage, gpu.name), gpu.name)
    # What was prepared is the same for a container that restarts now.
    assert prepared <= set(gpu.driver.cdi_files(stage.node))
    assert small in stage.restarted("small").values()
    # Nobody counts any more: what does not fit beside "half" and "small" is given out, and only the driver says no.
    stage.api.wait(PODS, "too-large", lambda seen: bool(seen["spec"].get("nodeName")), what="bound", timeout=60)
    stage.api.wait_event("too-large", "FailedPrepareDynamicResources", containing="is over-committed")
    stage.ends("too-large", "uncounted")
    stage.runs(_one(gpu, "while-off", "4g.20gb", second))
    yield

    stage.told(gpu.driver, f"pool {stage.node}: the API server keeps all fields now")
    stage.api.wait_all(
        RESOURCE_SLICES, lambda seen: _has_counters(seen, gpu.name), what="published with counters again"
    )
    assert stage.ledger(gpu.driver).devices == published
    stage.waits(_one(gpu, "still-too-large", "4g.20gb", first), _NOTHING_FITS)
    # What was given out without counting counts now, too.
    stage.waits(_one(gpu, "all-of-it", "7g.40gb", second), _NOTHING_FITS)
    stage.ledger(gpu.driver).check()
    stage.ends("half", "while-off")
    stage.started("still-too-large")
    stage.started("all-of-it")
