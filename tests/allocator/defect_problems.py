"""Random small problems in which the defects of upstream matter: what is allocated no longer fits what is published."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

from drakit_api.kubernetes_objects import Object
from tests.allocator.problem_strategies import Maker

_THEMES = ("counters", "capacity", "shared", "admin", "allocated", "several", "prioritized", "sizes", "constraints")
_RARE_THEMES = ("groups", "everything", "twins", "taints", "nics", "lists", "distinct")
_BROKEN_RANGES: list[Object] = [
    {"default": "1", "validRange": {"min": "1", "step": "0"}},
    {"validRange": {"min": "2", "step": "0", "max": "9"}},
    {"default": "2", "validRange": {"step": "1"}},
    {"validRange": {"step": "1", "max": "9"}},
]


def defective_of(seed: Any) -> Object:
    """The problem with this seed."""
    random = Random(seed)
    themes = {one for one in _THEMES if random.random() < 0.6} | {one for one in _RARE_THEMES if random.random() < 0.15}
    problem = Maker(random, frozenset(themes | {"counters"})).problem()
    for change in (_orphan, _overdraw, _break, _administer):
        if random.random() < 0.5:
            change(problem, random)
    return problem


def _devices(problem: Object) -> Iterator[Object]:
    for one in problem["slices"]:
        yield from one["spec"].get("devices") or ()


def _orphan(problem: Object, random: Random) -> None:
    """Shares are held of devices that cannot be shared any more."""
    names = {device["name"] for device in _devices(problem) if not device.get("allowMultipleAllocations")}
    results = problem["allocated"][0]["status"]["allocation"]["devices"]["results"]
    for result in results:
        if result["device"] in names and random.random() < 0.7:
            result["shareID"] = f"orphan-{result['device']}"
            if random.random() < 0.5:
                result["consumedCapacity"] = {"bw": random.choice("012")}


def _overdraw(problem: Object, random: Random) -> None:
    """Counters are smaller than they were when devices were given out."""
    for one in problem["slices"]:
        for counters in one["spec"].get("sharedCounters") or ():
            for counter in counters["counters"].values():
                if random.random() < 0.3:
                    counter["value"] = random.choice(["0", "1"])


def _break(problem: Object, random: Random) -> None:
    """Policies that no API server lets through."""
    for device in _devices(problem):
        for capacity in (device.get("capacity") or {}).values():
            if random.random() < 0.3:
                capacity["requestPolicy"] = random.choice(_BROKEN_RANGES)


def _administer(problem: Object, random: Random) -> None:
    for claim in problem["claims"]:
        for request in claim["spec"]["devices"]["requests"]:
            if "exactly" in request and random.random() < 0.4:
                request["exactly"]["adminAccess"] = True


defective_problems = st.integers(0, 2**48).map(defective_of)
