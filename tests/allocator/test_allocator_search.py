"""What the search may leave out, and what it must never do, on random small clusters."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation, allocate
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.explanation.summary import summary
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.results.placements import placements
from drakit_allocator.search import Limits, Search
from drakit_allocator.search.first_solution import FirstSolution
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object

_NODE = {"metadata": {"name": "node-1"}}
_CLASSES = [{"metadata": {"name": "any"}, "spec": {}}]
_FEATURES = Features.all()


def _slice(name: str, count: int, **spec: Any) -> Object:
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": count}
    return {"metadata": {"name": name}, "spec": {"driver": "d.example.com", "nodeName": "node-1", "pool": pool, **spec}}


def _claim(name: str, requests: list[Object], constraints: list[Object]) -> Object:
    devices: Object = {"requests": requests, "constraints": constraints}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}}


def _exactly(count: int, kind: str | None = None, **more: Any) -> Object:
    request: Object = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count, **more}
    if kind is not None:
        expression = f'device.attributes["d.example.com"].kind == "{kind}"'
        request["selectors"] = [{"cel": {"expression": expression}}]
    return request


def _device(random: Random, number: int) -> Object:
    attributes = {"kind": {"string": random.choice("xy")}, "group": {"int": random.randrange(3)}}
    device: Object = {"name": f"dev-{number}", "attributes": attributes}
    if random.random() < 0.6:
        counters = {name: {"value": str(random.randrange(4))} for name in random.sample("ab", random.randint(1, 2))}
        device["consumesCounters"] = [{"counterSet": random.choice(["s0", "s1"]), "counters": counters}]
    if random.random() < 0.15:
        device["allowMultipleAllocations"] = True
        device["capacity"] = {"bw": {"value": "4", "requestPolicy": {"default": "2"}}}
    if random.random() < 0.05:
        device["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return device


def _request(random: Random, name: str) -> Object:
    def kind() -> str | None:
        return random.choice([None, None, "x", "y"])

    if random.random() < 0.25:
        subrequests = [{"name": f"sub-{n}", **_exactly(random.randint(1, 3), kind())} for n in range(2)]
        return {"name": name, "firstAvailable": subrequests}
    exactly = _exactly(random.choice([1, 1, 2]), kind())
    if random.random() < 0.1:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


Cluster = tuple[list[Object], list[Object], list[Object]]


def _cluster(random: Random) -> Cluster:
    """Slices, claims to allocate and allocated claims; tight, so that the first choice is rarely the right one."""
    devices = [_device(random, number) for number in range(random.randint(3, 8))]
    counters = {name: {"value": "4"} for name in "ab"}
    sets = [{"name": name, "counters": counters} for name in ("s0", "s1")]
    slices = [_slice("counters", 2, sharedCounters=sets), _slice("devices", 2, devices=devices)]
    claims = []
    for number in range(random.randint(1, 2)):
        requests = [_request(random, f"req-{position}") for position in range(random.randint(1, 3))]
        kinds = random.choice([[], ["matchAttribute"], ["matchAttribute"], ["distinctAttribute"]])
        some = {"requests": [requests[-1]["name"]]} if random.random() < 0.3 else {}
        constraints = [{kind: "d.example.com/group", **some} for kind in kinds]
        claims.append(_claim(f"claim-{number}", requests, constraints))
    taken = random.sample(range(len(devices)), random.choice([0, 0, 1]))
    results = [{"driver": "d.example.com", "pool": "pool", "device": f"dev-{n}", "request": "r"} for n in taken]
    allocation = {"allocation": {"devices": {"results": results}}}
    return slices, claims, [{"metadata": {"name": "old", "namespace": "default"}, "status": allocation}]


_clusters = st.builds(Random, st.integers(0, 2**32)).map(_cluster)


def _pod(cluster: Cluster) -> PodAllocation:
    slices, claims, allocated = cluster
    snapshot = Snapshot(_FEATURES, slices=slices, classes=_CLASSES)
    return PodAllocation(claims, snapshot, AllocatedState.of(allocated, _FEATURES))


def _search(cluster: Cluster, *, prunes: bool) -> Any:
    """The devices found, None if it does not fit, or the error."""
    pod = _pod(cluster)
    try:
        situation = pod.situation(Node.of(_NODE))
        walk = Search(situation, pod.claims, situation.candidates(pod.claims), prunes=prunes)
        if not walk.run():
            return None
    except AllocationError as error:
        return error.message
    placed = placements(pod.claims, walk.choice(), situation.pools)
    return [[(one.request.result_name, one.device.id) for one in of_claim] for of_claim in placed]


@pytest.mark.slow
@pytest.mark.parametrize("gets_stuck", [False, True])
@pytest.mark.parametrize("start", range(0, 3000, 500))
def test_leaving_out_what_is_hopeless_does_not_change_the_answer(
    start: int, gets_stuck: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk that leaves out nothing is the reference. Seeds, not shrinking: most problems must need backtracking."""
    if gets_stuck:  # what comes first is rarely wrong in small problems; here it is never tried
        monkeypatch.setattr(FirstSolution, "_fill", lambda *_: False)
    different = [
        seed
        for seed in range(start, start + 500)
        if _search(_cluster(Random(seed)), prunes=True) != _search(_cluster(Random(seed)), prunes=False)
    ]
    assert not different


def _drawn(devices: list[str], slices: list[Object]) -> dict[tuple[str, str], int]:
    """Counters drawn by the devices, each charged once however many shares it has."""
    drawn: dict[tuple[str, str], int] = {}
    for device in slices[1]["spec"]["devices"]:
        if device["name"] in devices:
            for entry in device.get("consumesCounters", ()):
                for name, counter in entry["counters"].items():
                    key = entry["counterSet"], name
                    drawn[key] = drawn.get(key, 0) + int(counter["value"])
    return drawn


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_clusters)
def test_counters_and_devices_are_never_given_out_twice(cluster: Cluster) -> None:
    slices, claims, allocated = cluster
    snapshot = Snapshot(_FEATURES, slices=slices, classes=_CLASSES)
    results = allocate(_NODE, claims, snapshot, AllocatedState.of(allocated, _FEATURES))
    if results is None:
        return
    before = {result["device"] for result in allocated[0]["status"]["allocation"]["devices"]["results"]}
    got = [result for one in results for result in one["devices"].get("results", ())]
    charged = sorted({*before, *(result["device"] for result in got)})
    new = _drawn([result["device"] for result in got], slices)
    overdrawn = {key for key, amount in _drawn(sorted(before), slices).items() if amount > 4}
    for key, amount in _drawn(charged, slices).items():
        assert amount <= 4 or (key in overdrawn and key not in new)
    dedicated = [result["device"] for result in got if "shareID" not in result and "adminAccess" not in result]
    assert len(dedicated) == len(set(dedicated))
    assert before.isdisjoint(dedicated)
    for device in slices[1]["spec"]["devices"]:
        shares = [result for result in got if result["device"] == device["name"] and "shareID" in result]
        assert sum(int(result["consumedCapacity"]["bw"]) for result in shares) <= 4


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_clusters)
def test_whatever_does_not_fit_has_a_reason(cluster: Cluster) -> None:
    pod, node = _pod(cluster), Node.of(_NODE)
    if pod.on(node) is None:
        assert summary(pod, node)


def _identical(count: int) -> Snapshot:
    devices = [{"name": f"dev-{number}", "attributes": {"uuid": {"int": number}}} for number in range(count)]
    return Snapshot(_FEATURES, slices=[_slice("devices", 1, devices=devices)], classes=_CLASSES)


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([{"name": "all", "exactly": _exactly(32)}], id="one request, count n+1"),
        pytest.param([{"name": f"r{n}", "exactly": _exactly(1)} for n in range(32)], id="n+1 requests"),
    ],
)
def test_identical_devices_are_tried_once(requests: list[Object]) -> None:
    claims = [_claim("claim", requests, [])]
    result = allocate(_NODE, claims, _identical(31), AllocatedState(_FEATURES), max_steps=1000)
    assert result is None


def test_more_devices_than_stack_frames() -> None:
    claims = [_claim(f"claim-{n}", [{"name": "r", "exactly": _exactly(32)}], []) for n in range(40)]
    results = allocate(_NODE, claims, _identical(40 * 32), AllocatedState(_FEATURES))
    assert results is not None
    assert [len(one["devices"]["results"]) for one in results] == [32] * 40


def _below(number: int) -> Object:
    return {"cel": {"expression": f'device.attributes["d.example.com"].uuid < {number}'}}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        pytest.param(Limits(deadline=0.0), "context deadline exceeded", id="deadline"),
        pytest.param(Limits(steps=3), "no answer after 3 steps", id="steps"),
    ],
)
def test_a_search_can_be_bounded(limits: Limits, message: str) -> None:
    # The last request fits the first device only, the one before it the first two, and so on: all move up.
    requests = [{"name": f"r{n}", "exactly": {**_exactly(1), "selectors": [_below(8 - n)]}} for n in range(8)]
    pod = PodAllocation([_claim("claim", requests, [])], _identical(8), AllocatedState(_FEATURES))
    with pytest.raises(AllocationAborted, match=message):
        pod.on(Node.of(_NODE), limits)
