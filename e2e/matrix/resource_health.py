"""ResourceHealthStatus (KEP-4680): the health of a pod's devices in its status, as the driver reports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS
from drakit_kind.clusters.manifests import claim, request
from e2e.matrix.stage import Stage

# After which a container ends.
_SECONDS = 3
_DRIVER = "healthy.example.com"
_DEVICES = f"""
driver: {_DRIVER}
devices: [{{name: device-0}}, {{name: device-1}}, {{name: device-2}}, {{name: device-3}}]
"""


def _runs(stage: Stage, name: str) -> None:
    stage.runs(claim(name, request("device", _DRIVER)))


def _reported(pod: Object) -> list[Any]:
    """The health of each device in a pod's status."""
    statuses = pod["status"]["containerStatuses"][0].get("allocatedResourcesStatus") or []
    return [resource["health"] for status in statuses for resource in status["resources"]]


def _becomes(stage: Stage, name: str, *health: str) -> None:
    stage.api.wait(PODS, name, lambda seen: _reported(seen) == list(health), what=f"reported as {health or 'nothing'}")


def _runs_without_report(stage: Stage, name: str) -> None:
    """Health comes with whatever a kubelet says of a container: that it runs, has ended, and runs again."""
    stage.runs_for(_SECONDS, claim(name, request("device", _DRIVER)))
    stage.restarted(name)
    assert _reported(stage.api.get(PODS, name)) == []


def rollout(stage: Stage) -> Iterator[None]:
    """On; off in the API server, which keeps what it has; off in the kubelet, which takes it back; on everywhere.

    Whose driver has died is of unknown health until it is back.
    """
    driver = stage.layout(_DEVICES)
    _runs(stage, "first")
    _becomes(stage, "first", "Healthy")
    yield

    _runs_without_report(stage, "second")
    # What is new is dropped, what is there stays.
    assert _reported(stage.api.get(PODS, "first")) == ["Healthy"]
    yield

    _becomes(stage, "first")
    _runs_without_report(stage, "third")
    yield

    _runs(stage, "fourth")
    names = ("first", "second", "third", "fourth")
    for name in names:
        _becomes(stage, name, "Healthy")
    driver.kill()
    for name in names:
        _becomes(stage, name, "Unknown")
    driver.start()
    for name in names:
        _becomes(stage, name, "Healthy")
