"""Components of different versions side by side, and upgrades in steps: the whole way of a claim, in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, first_available
from e2e.hardware import Gpus
from e2e.matrix.rule_followers import RuleFollower
from e2e.matrix.stage import Stage

_NOTHING_FITS = "cannot allocate all claims"
# Kubelets report the health of devices by default since then.
_REPORTS_HEALTH_SINCE = "v1.36"


def _kubelet_version(stage: Stage) -> str:
    version: str = stage.api.get(NODES, stage.node)["status"]["nodeInfo"]["kubeletVersion"]
    return version


def _gets_what_it_asks_for(stage: Stage, gpu: Gpus, name: str, *, protocol: str) -> None:
    """A claim with a prioritized list: allocated, prepared, seen in the container's environment, counted."""
    best = gpu.partition("4g.20gb")["exactly"], gpu.partition("1g.5gb")["exactly"]
    alternatives = [{"name": size, **fields} for size, fields in zip(("large", "small"), best, strict=True)]
    (device,) = stage.runs(claim(name, first_available("mig", *alternatives)))
    assert [result["request"] for result in stage.results(name)] == ["mig/small"]
    assert gpu.driver.prepare_calls(stage.api.get(RESOURCE_CLAIMS, name)["metadata"]["uid"]) == [protocol]
    assert device in stage.api.environment(name).values()
    stage.ledger(gpu.driver).check()


def _reports_health(stage: Stage, name: str) -> bool:
    (container,) = stage.api.get(PODS, name)["status"]["containerStatuses"]
    return "allocatedResourcesStatus" in container


def steps(
    stage: Stage, *, phases: int, plugin_versions: Sequence[str], follower: type[RuleFollower] | None = None
) -> Iterator[None]:
    """In each phase a pod gets a partition, and what is too large stays too large; two run through all phases.

    What one version has allocated and prepared, another gives back. ``plugin_versions`` are those of the kubelet's
    plugin protocol that the driver knows; none means all. ``follower`` shows in each phase what only its version does.
    """
    shown = follower(stage) if follower else None
    gpu = stage.gpus(plugin_versions=plugin_versions)
    stage.runs(gpu.partitions("half", "3g.20gb", same_gpu=False))
    stage.waits(gpu.whole("whole"), _NOTHING_FITS)
    for phase in range(phases):
        name = f"phase-{phase}"
        # Each of these kubelets knows v1, and takes it where it has the choice.
        _gets_what_it_asks_for(stage, gpu, name, protocol=plugin_versions[0] if plugin_versions else "v1")
        assert _reports_health(stage, name) == (_kubelet_version(stage) >= _REPORTS_HEALTH_SINCE)
        stage.waits(gpu.whole(f"too-large-{phase}"), _NOTHING_FITS)
        stage.ends(f"too-large-{phase}")
        if shown:
            shown.look(phase)
        if phase > 1:
            stage.ends(f"phase-{phase - 1}")
        if phase < phases - 1:
            yield
    stage.ends("half", "phase-0", f"phase-{phases - 1}")
    assert stage.started("whole") == ["gpu-0"]
