"""Health of devices as drivers report it, for ``allocatedResourcesStatus`` of the containers that have them.

Follows k8s.io/kubernetes/pkg/kubelet/cm/dra/healthinfo.go; its checkpoint of health is left out, because the driver
reports again as soon as the stream is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

DEFAULT_TIMEOUT = 30.0
# ResourceHealthMessageMaxLength (k8s.io/api/core/v1/types.go).
_LONGEST_MESSAGE = 1024
_MOST_DEVICES = 16384
_STATES = {1: "Healthy", 2: "Unhealthy"}

DeviceKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Health:
    """State of one device: Healthy, Unhealthy or Unknown, and what the driver says about it."""

    state: str = "Unknown"
    message: str = ""
    timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True)
class Report:
    """One entry of a NodeWatchResources message; ``health`` is the number on the wire."""

    pool: str
    device: str
    health: int
    timeout: float
    message: str

    def as_health(self) -> Health:
        """Convert the report to a health with the kubelet's defaults and limits."""
        timeout = self.timeout if self.timeout > 0 else DEFAULT_TIMEOUT
        return Health(_STATES.get(self.health, "Unknown"), _clip(self.message), timeout)


class HealthCache:
    """The last report for each device of each driver on a node."""

    def __init__(self) -> None:
        self._drivers: dict[str, dict[DeviceKey, tuple[Health, float]]] = {}

    def get(self, driver: str, pool: str, device: str) -> Health:
        """Look up the health of a device; a report older than its timeout counts as Unknown."""
        entry = self._drivers.get(driver, {}).get((pool, device))
        if entry is None or time.monotonic() - entry[1] > entry[0].timeout:
            return Health()
        return entry[0]

    def update(self, driver: str, reports: Iterable[Report]) -> set[DeviceKey]:
        """Update from one message; returns the devices whose health, message or timeout changed."""
        now = time.monotonic()
        known = self._drivers.setdefault(driver, {})
        changed = set()
        reported = set()
        for report in reports:
            key = (report.pool, report.device)
            reported.add(key)
            if key not in known and len(known) >= _MOST_DEVICES:
                continue
            health = report.as_health()
            if key not in known or known[key][0] != health:
                changed.add(key)
            known[key] = (health, now)
        for key in known.keys() - reported:
            health, seen = known[key]
            if now - seen > health.timeout:
                del known[key]
                if health.state != "Unknown":
                    changed.add(key)
        return changed

    def next_expiry(self) -> float | None:
        """Compute the seconds until the next report becomes too old; None if all are, or there is none."""
        now = time.monotonic()
        left = [seen + h.timeout - now for known in self._drivers.values() for h, seen in known.values()]
        return min((seconds for seconds in left if seconds > 0), default=None)

    def clear(self, driver: str) -> set[DeviceKey]:
        """Forget a driver whose stream ended; returns the devices that were known."""
        return set(self._drivers.pop(driver, {}))


def _clip(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."
