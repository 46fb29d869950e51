"""Devices that are interchangeable for a search: where one of them led nowhere, the others lead nowhere.

Two devices are of one kind when exchanging them changes nothing that any request, constraint, counter or capacity of
this search can notice. If a solution used the second where the first failed, the same solution with both exchanged
would use the first, and keep the increasing order within a request, for the second comes later. Where visiting a device
may be fatal, nothing is left out: which devices are visited is then part of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from drakit_allocator.candidates import Candidates, Situation
from drakit_allocator.devices import Device
from drakit_allocator.errors import AllocationError
from drakit_allocator.requests import Request


class Interchange:
    """The kinds of the devices of one search, determined when first asked for."""

    def __init__(self, situation: Situation, candidates: Iterable[Candidates]) -> None:
        self._situation = situation
        self._candidates = tuple(candidates)
        self._attributes = tuple({a for one in self._candidates for _, a in one.request.constraints})
        self._membership: dict[Device, int] | None = None
        self._kinds: dict[Any, int] = {}
        self._known: dict[Device, int] = {}

    @staticmethod
    def of(situation: Situation, candidates: Mapping[Request, Candidates]) -> Interchange | None:
        """None when visiting some device may be fatal."""
        for one in candidates.values():
            if one.faults or (one.request.wants_all and one.request.constraints) or not _is_safe(one):
                return None
        return Interchange(situation, candidates.values())

    def kind(self, device: Device) -> int:
        """A number that interchangeable devices share."""
        kind = self._known.get(device)
        if kind is None:
            kind = self._known[device] = self._kinds.setdefault(self._signature(device), len(self._kinds))
        return kind

    def _signature(self, device: Device) -> Any:
        if self._membership is None:
            self._membership = self._members()
        content, allocated = device.content, self._situation.allocated
        return (
            self._membership.get(device, 0),
            tuple(attribute.of(device) for attribute in self._attributes),
            (device.slice.pool, content.consumption) if content.consumption else None,
            content.is_shareable,
            msgspec.json.encode(content.spec.get("capacity")) if self._situation.features.consumable_capacity else None,
            tuple(sorted(allocated.consumed(device.id).items())),
            allocated.is_shared(device.id),
        )

    def _members(self) -> dict[Device, int]:
        """For which requests each device is a candidate, as bits; unusable ones count as something else."""
        members: dict[Device, int] = {}
        for number, one in enumerate(self._candidates):
            for device in one.devices:
                members[device] = members.get(device, 0) | 1 << 2 * number
            for device in one.unusable:
                members[device] |= 1 << 2 * number + 1
        return members


def _is_safe(candidates: Candidates) -> bool:
    """Whether all derived attributes can be evaluated."""
    derived = [attribute for _, attribute in candidates.request.constraints if attribute.expression is not None]
    try:
        for attribute in derived:
            for device in candidates.devices:
                attribute.of(device)
    except AllocationError:
        return False
    return True
