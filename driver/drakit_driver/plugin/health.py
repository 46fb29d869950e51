"""The health of each device, and the stream on which the kubelet follows it.

A fake device is healthy until somebody says otherwise (``health_control``). The whole report is sent at first, at
every change, and often enough that the kubelet does not take silence for an unknown state (30 s; healthServerBridge in
k8s.io/dynamic-resource-allocation/kubeletplugin/health.go). In v1 and v1alpha1 the messages are the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

DeviceKey = tuple[str, str]
RESEND_SECONDS = 10.0


class Health(IntEnum):
    """The health of a device; the numbers are those of the kubelet's gRPC messages."""

    UNKNOWN = 0
    HEALTHY = 1
    UNHEALTHY = 2

    def __str__(self) -> str:
        """As in a pod's status."""
        return self.name.capitalize()


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device's state; ``since`` in seconds since the epoch."""

    health: Health
    since: int
    message: str = ""


def what_there_is(devices: Iterable[DeviceKey], pool: str, device: str) -> str:
    """Tell whoever named a device that is none of these which pools there are, or which devices in this one."""
    names: dict[str, list[str]] = {}
    for owner, name in sorted(devices):
        names.setdefault(owner, []).append(name)
    if pool not in names:
        return f"no pool {pool}; there is {', '.join(names) or 'none'}"
    return f"no device {device} in pool {pool}; it has {', '.join(names[pool])}"


class HealthBoard:
    """Health by ``(pool, device)``, with any number of followers."""

    def __init__(self, devices: Iterable[DeviceKey], *, resend_seconds: float = RESEND_SECONDS) -> None:
        now = int(time.time())
        self._devices = {key: DeviceHealth(Health.HEALTHY, now) for key in devices}
        self._resend_seconds = resend_seconds
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def devices(self) -> frozenset[DeviceKey]:
        """``(pool, device)`` of each device that is reported."""
        return frozenset(self._devices)

    def set(self, pool: str, device: str, health: Health, message: str = "") -> None:
        """Report a device as being in a state from now on; raises ``LookupError`` for one that is not published."""
        if (pool, device) not in self._devices:
            raise LookupError(what_there_is(self._devices, pool, device))
        self._devices[pool, device] = DeviceHealth(health, int(time.time()), message)
        self._notify()

    def replace_devices(self, devices: Iterable[DeviceKey]) -> None:
        """Follow a change of the pools; devices that stay keep their state."""
        now = int(time.time())
        self._devices = {key: self._devices.get(key, DeviceHealth(Health.HEALTHY, now)) for key in devices}
        self._notify()

    def report(self) -> dict[DeviceKey, DeviceHealth]:
        """Return the state of all devices now, with fresh times: the fake hardware is looked at whenever asked."""
        now = int(time.time())
        return {key: replace(state, since=now) for key, state in self._devices.items()}

    def close(self) -> None:
        """End ``reports`` for all followers."""
        self._closed = True
        self._notify()

    async def reports(self) -> AsyncIterator[dict[DeviceKey, DeviceHealth]]:
        """Yield a report now, at every change and at least every ``resend_seconds``, until closed."""
        while not self._closed:
            changed = self._changed
            yield self.report()
            try:
                async with asyncio.timeout(self._resend_seconds):
                    await changed.wait()
            except TimeoutError:
                continue

    def _notify(self) -> None:
        # Each change has an event of its own, so that a follower who was busy sending does not miss it.
        self._changed.set()
        self._changed = asyncio.Event()
