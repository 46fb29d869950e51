"""What tells a component of 1.37 from one of 1.36: since 1.37, DeviceTaintRules are followed by default (KEP-5055).

Scheduler and controllers show in this way which version they are, also where they do not say it.
"""

from __future__ import annotations

from typing import Protocol

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEVICE_TAINT_RULES
from drakit_kind.cluster import Component
from drakit_kind.clusters.manifests import claim, request
from e2e.fence import await_controllers
from e2e.matrix import versions
from e2e.matrix.stage import Stage

_FOLLOWED_SINCE = "1.37"
_NOTHING_FITS = "cannot allocate all claims"


class RuleFollower(Protocol):
    """Is shown devices with a rule in each phase of a row; a phase with the older version comes first."""

    def __init__(self, stage: Stage) -> None: ...

    def look(self, phase: int) -> None:
        """Raises ``AssertionError`` if the component does not do what its version does."""


class ByTheScheduler:
    """A rule keeps all devices of a driver free. What an older scheduler gives out, a newer one keeps back."""

    _DRIVER = "kept-free.example.com"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._waiting: list[str] = []
        stage.api.create(_rule(self._DRIVER, "NoSchedule"))
        _publish(stage, self._DRIVER)

    def look(self, phase: int) -> None:
        """See ``RuleFollower``; a pod that had to wait for an older scheduler gets its device then."""
        name = f"kept-free-{phase}"
        if _follows("scheduler", self._stage):
            self._stage.waits(_one(name, self._DRIVER), _NOTHING_FITS)
            self._waiting.append(name)
            return
        self._stage.creates(_one(name, self._DRIVER))
        names, self._waiting = [*self._waiting, name], []
        for each in names:
            self._stage.started(each)
        self._stage.ends(*names)


class ByTheControllers:
    """A rule evicts from all devices of a driver. Whom older controllers leave alone, newer ones evict."""

    _DRIVER = "evicting.example.com"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._left_alone: list[str] = []
        _publish(stage, self._DRIVER)

    def look(self, phase: int) -> None:
        """See ``RuleFollower``; newer controllers evict whom older ones have left alone."""
        if _follows("controllers", self._stage):
            for name in self._left_alone:
                self._stage.evicted(name)
            self._left_alone.clear()
            self._stage.api.delete(DEVICE_TAINT_RULES, self._DRIVER)
            return
        name = f"evicting-{phase}"
        self._stage.runs(_one(name, self._DRIVER))
        self._stage.api.create(_rule(self._DRIVER, "NoExecute"))
        # What other controllers do with a pod that came later takes longer than an eviction.
        await_controllers(self._stage.api)
        self._stage.check_survivors()
        self._stage.lets_go(name)
        self._left_alone.append(name)


def _follows(component: Component, stage: Stage) -> bool:
    return versions.is_at_least(stage.versions[component], _FOLLOWED_SINCE)


def _publish(stage: Stage, driver: str) -> None:
    stage.layout(f"driver: {driver}\ndevices: [{{name: device-0}}, {{name: device-1}}, {{name: device-2}}]\n")


def _one(name: str, driver: str) -> Object:
    return claim(name, request("device", driver))


def _rule(driver: str, effect: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": driver},
        "spec": {"deviceSelector": {"driver": driver}, "taint": {"key": "example.com/rule", "effect": effect}},
    }
