"""Which defect of Kubernetes makes a difference is said, in every form, where it is so and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.cli.allocate_command import allocate
from drakit_allocator.defects import COMPATS, SAFE, UPSTREAM, Compat, Defect
from drakit_allocator.explanation import Inventory, explain, explanation_text, summary
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.features import Features
from drakit_allocator.inputs.problems import answer
from drakit_allocator.nodes import Node
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object
from tests.allocator.defect_problems import defective_of
from tests.allocator.reference_search import Reference, TooLong

_DRIVER, _POOL = "d.example.com", "d.example.com/p"
_ALL = {one.value for one in Defect}
_CLASS: Object = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}
_NODE: Object = {"metadata": {"name": "n1", "labels": {}}, "spec": {}, "status": {}}


def _draws(name: str, counter_set: str, amount: str, **more: Any) -> Object:
    consumed = [{"counterSet": counter_set, "counters": {"u": {"value": amount}}}]
    return {"name": name, "consumesCounters": consumed, **more}


def _range(**bounds: str) -> Object:
    policy = {"default": "2", "validRange": bounds}
    return {"allowMultipleAllocations": True, "capacity": {"bw": {"value": "10", "requestPolicy": policy}}}


def _slices(*devices: Object, **counters: str) -> list[Object]:
    bodies: list[Object] = [{"devices": list(devices)}]
    if counters:
        sets = [{"name": name, "counters": {"u": {"value": value}}} for name, value in counters.items()]
        bodies.append({"sharedCounters": sets})
    pool = {"name": "p", "generation": 1, "resourceSliceCount": len(bodies)}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"s{number}"},
            "spec": {"driver": _DRIVER, "nodeName": "n1", "pool": pool, **body},
        }
        for number, body in enumerate(bodies)
    ]


def _claim(name: str = "new", *requests: Object) -> Object:
    base = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "devices": {
                "requests": [{"name": f"r{i}", "exactly": {**base, **one}} for i, one in enumerate(requests or ({},))]
            }
        },
    }


def _held(name: str, device: str, **more: Any) -> Object:
    result = {"request": "r0", "driver": _DRIVER, "pool": "p", "device": device, **more}
    return {**_claim(name), "status": {"allocation": {"devices": {"results": [result]}}}}


_SHARE = {"shareID": "11111111-1111-4111-8111-111111111111"}
_ADMIN = {"adminAccess": True}
_CASES = {
    Defect.ADMIN_ACCESS_DRAWS_COUNTERS: (
        _slices(_draws("d0", "cs", "2"), cs="2"),
        _claim("new", _ADMIN),
        [_held("old", "d0")],
        (None, ["d0"]),
        {"pool": _POOL, "devices": ["d0"], "counterSet": "cs", "holders": ["ns/old"]},
    ),
    Defect.OVERDRAFT_BLOCKS_POOL: (
        _slices(_draws("d0", "cs0", "1"), _draws("d1", "cs1", "3"), cs0="5", cs1="2"),
        _claim(),
        [_held("old", "d1")],
        (None, ["d0"]),
        {"pool": _POOL, "devices": ["d0"], "counterSet": "cs1", "holders": ["ns/old"]},
    ),
    Defect.SHARES_ARE_NOT_IN_USE: (
        _slices({"name": "d0"}),
        _claim(),
        [_held("old", "d0", **_SHARE)],
        (["d0"], None),
        {"pool": _POOL, "devices": ["d0"], "holders": ["ns/old"]},
    ),
    Defect.BROKEN_RANGE_PANICS: (
        _slices({"name": "d0", **_range(min="1", step="0")}, {"name": "d1", **_range(min="1", step="1")}),
        _claim("new", {"capacity": {"requests": {"bw": "3"}}}),
        [],
        ("error", ["d1"]),
        {"pool": _POOL, "devices": ["d0"]},
    ),
}


def _problem(slices: list[Object], claims: list[Object], allocated: list[Object]) -> Object:
    return {
        "name": "case",
        "features": {"all": True},
        "node": _NODE,
        "classes": [_CLASS],
        "slices": slices,
        "claims": claims,
        "allocated": allocated,
    }


def _devices(answered: Object) -> list[str] | str | None:
    if "error" in answered:
        return "error"
    results = [one for claim in answered["allocation"] or () for one in claim["devices"]["results"]]
    return [one["device"] for one in results] or None


@pytest.mark.parametrize("defect", _CASES, ids=lambda defect: defect.value)
def test_each_defect_is_switched_off_and_named(defect: Defect) -> None:
    slices, claim, allocated, (upstream, safe), place = _CASES[defect]
    problem = _problem(slices, [claim], allocated)
    with_defects, without = answer(problem), answer(problem, compat="safe")
    assert (_devices(with_defects), _devices(without)) == (upstream, safe)
    assert "defects" not in with_defects
    (effect,) = without["defects"]
    assert (effect["defect"], effect["claims"], effect["places"]) == (defect.value, ["ns/new"], [place])
    assert effect["text"] == defect.text


def test_every_defect_has_a_case_and_says_what_it_is() -> None:
    assert set(_CASES) == set(Defect)
    assert len({one.text for one in Defect} | {one.instead for one in Defect} | {one.source for one in Defect}) == 12


@pytest.mark.parametrize(
    ("slices", "claims", "allocated", "devices"),
    [
        pytest.param(
            _slices(_draws("d0", "cs", "2"), cs="2"),
            [_claim("one", {}), _claim("two", _ADMIN)],
            [],
            ["d0", "d0"],
            id="admin access to what the same pod has",
        ),
        pytest.param(
            _slices(_draws("d0", "cs", "2"), _draws("d1", "cs", "2"), cs="2"),
            [_claim("one", _ADMIN), _claim("two", {})],
            [],
            ["d0", "d1"],
            id="admin access leaves the counters to others",
        ),
        pytest.param(
            _slices(_draws("d0", "cs", "2", allowMultipleAllocations=True), _draws("d1", "cs", "1"), cs="2"),
            [_claim("one", _ADMIN, {"count": 2})],
            [],
            None,
            id="a share for admin access does not pay for the next one",
        ),
        pytest.param(
            _slices(_draws("d0", "cs", "0"), _draws("d1", "cs", "3"), cs="2"),
            [_claim()],
            [_held("old", "d1")],
            None,
            id="its own counter set is overdrawn",
        ),
        pytest.param(
            _slices({"name": "d0", "allowMultipleAllocations": True}),
            [_claim()],
            [_held("old", "d0", **_SHARE)],
            ["d0"],
            id="what can be shared still is",
        ),
        pytest.param(
            _slices({"name": "d0"}),
            [_claim("new", _ADMIN)],
            [_held("old", "d0", **_SHARE)],
            ["d0"],
            id="admin access to a device with shares",
        ),
        pytest.param(
            _slices({"name": "d0"}, {"name": "d1"}),
            [_claim("new", {"allocationMode": "All", "count": 0})],
            [_held("old", "d0", **_SHARE)],
            None,
            id="all devices, one of them with shares",
        ),
        pytest.param(
            _slices({"name": "d0", **_range(step="1")}),
            [_claim("new", {"capacity": {"requests": {"bw": "3"}}})],
            [],
            None,
            id="the only device has a step without min",
        ),
    ],
)
def test_what_is_right_without_the_defects(
    slices: list[Object], claims: list[Object], allocated: list[Object], devices: list[str] | None
) -> None:
    assert _devices(answer(_problem(slices, claims, allocated), compat="safe")) == devices


def _plain(answered: Object) -> Object:
    """What is compared: shares are numbered, steps depend on what is remembered."""
    return {key: value for key, value in answered.items() if key not in ("steps", "defects")}


def _reference(problem: Object, defects: set[str]) -> Any:
    return Reference(problem, steps=3000, without=_ALL - defects).answer()


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 600, 300))
def test_a_defect_is_named_where_the_answers_differ_and_only_there(start: int) -> None:
    named = 0
    for seed in range(start, start + 300):
        problem = defective_of(seed)
        upstream, safe = answer(problem), answer(problem, compat="safe")
        assert bool(safe["defects"]) == (_plain(upstream) != _plain(safe)), seed
        named += bool(safe["defects"])
        for effect in safe["defects"]:
            _check(problem, effect)
    assert named > 30


def _check(problem: Object, effect: Object) -> None:
    """By the naive search, and by what is published and allocated."""
    try:
        reference = Reference(problem, steps=3000, without=_ALL)
        safe, upstream = _reference(problem, set()), _reference(problem, _ALL)
        culprits = {effect["defect"], *effect.get("together", ())}
        assert _reference(problem, culprits) != safe or "error" in (safe, upstream)
    except TooLong:
        return
    assert (effect["upstream"] == "fits", effect["safe"] == "fits") == (type(upstream) is list, type(safe) is list)
    devices = {one.key: one for one in reference.devices}
    assert effect["places"]
    for place in effect["places"]:
        driver, pool = place["pool"].split("/")
        named = [devices[driver, pool, name] for name in place.get("devices", ())]
        match effect["defect"]:
            case "adminAccessDrawsCounters":
                assert all(place["counterSet"] in {draw[0][2] for draw in one.draws} for one in named)
            case "overdraftBlocksPool":
                assert (driver, pool, place["counterSet"]) in reference.overdrawn
                assert all(one.spec["consumesCounters"] for one in named)
            case "sharesAreNotInUse":
                assert all(one.key in reference.shares and not one.is_shareable for one in named)
                assert place["holders"] == ["default/old"]


def test_an_answer_is_not_taken_for_one_with_other_defects() -> None:
    """What is remembered of a node belongs to the rules under which it was found out."""
    slices, claim, allocated, _, _ = _CASES[Defect.OVERDRAFT_BLOCKS_POOL]
    features = Features.all()
    snapshot = Snapshot(features, slices=slices, classes=[_CLASS])
    state, node = AllocatedState.of(allocated, features), Node.of(_NODE)
    for _ in range(2):
        pod = PodAllocation([claim], snapshot, state)
        assert pod.on(node) is None
        assert pod.under(SAFE).on(node) is not None
        assert pod.under(UPSTREAM).snapshot is snapshot
    state.remove_claim(allocated[0])
    assert pod.on(node) is not None
    assert defect_effects(pod, node, Clock(5)) == ()
    snapshot.put_slice(_slices({"name": "d0"})[0])
    assert pod.under(SAFE).on(node) is None  # the pool is incomplete now


def _explained(defect: Defect, compat: Compat = "upstream") -> tuple[str, str]:
    """The text of the explanation, and the short form."""
    slices, claim, allocated, _, _ = _CASES[defect]
    features = Features.all().compatible(compat)
    inventory = Inventory.of(features, slices=slices, classes=[_CLASS], claims=allocated)
    pod = PodAllocation([claim], inventory.snapshot(), inventory.allocated())
    short = summary(pod, Node.of(_NODE)) if pod.on(Node.of(_NODE)) is None else ""
    return explanation_text(explain([claim], [_NODE], inventory)), short


def test_an_explanation_names_the_defect_without_which_it_would_fit() -> None:
    text, short = _explained(Defect.OVERDRAFT_BLOCKS_POOL)
    assert (
        "  defect of Kubernetes: one overdrawn counter blocks all devices of its pool that draw from counters, be it "
        "from other counter sets (d0 by counter set cs1 of d.example.com/p, held by ns/old): does not fit in "
        "Kubernetes, fits without the defect [overdraftBlocksPool]\n"
    ) in text
    assert short.endswith("; would fit but for Kubernetes' defect overdraftBlocksPool")


def test_an_explanation_names_the_defect_that_gives_a_device_out_twice() -> None:
    text, _ = _explained(Defect.SHARES_ARE_NOT_IN_USE)
    assert text.startswith("ns/new: fits on n1\n")
    assert "(d0 of d.example.com/p, held by ns/old): fits in Kubernetes, does not fit without the defect" in text
    text, short = _explained(Defect.SHARES_ARE_NOT_IN_USE, "safe")
    assert "1 are in use\n        d0 by ns/old" in text
    assert short == (
        "request r0: 1 device: 1 are in use (d0 by ns/old); would fit by Kubernetes' defect sharesAreNotInUse"
    )


def test_an_overdrawn_counter_set_is_told_from_an_overdrawn_pool() -> None:
    other = {"consumesCounters": [{"counterSet": "cs", "counters": {"v": {"value": "1"}}}]}
    slices = _slices({"name": "d0", **other}, _draws("d1", "cs", "3"), cs="2")
    slices[1]["spec"]["sharedCounters"][0]["counters"]["v"] = {"value": "5"}
    said = {}
    for compat in COMPATS:
        features, held = Features.all().compatible(compat), [_held("old", "d1")]
        inventory = Inventory.of(features, slices=slices, classes=[_CLASS], claims=held)
        said[compat] = explanation_text(explain([_claim()], [_NODE], inventory))
    assert "u of cs is overdrawn, which blocks the whole pool, held by ns/old" in said["upstream"]
    assert "u of cs is overdrawn, which blocks the counter set, held by ns/old" in said["safe"]


def test_a_device_that_is_passed_over_says_what_makes_no_sense() -> None:
    slices = _slices({"name": "d0", **_range(min="1", step="0")})
    claim = _claim("new", {"capacity": {"requests": {"bw": "3"}}})
    inventory = Inventory.of(Features.all().compatible("safe"), slices=slices, classes=[_CLASS])
    assert "validRange has step 0" in explanation_text(explain([claim], [_NODE], inventory))


class _Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def allocate(self, defect: Defect, *options: str) -> Result:
        slices, claim, allocated, _, _ = _CASES[defect]
        path = self._folder / "objects.yaml"
        path.write_text(yaml.safe_dump_all(json.loads(json.dumps([*slices, _CLASS, claim, *allocated]))))
        return CliRunner().invoke(allocate, ["-f", str(path), *options])


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    return _Files(tmp_path)


def test_files_are_allocated_without_the_defects(files: _Files) -> None:
    upstream = files.allocate(Defect.OVERDRAFT_BLOCKS_POOL)
    assert upstream.exit_code == 1
    assert "; would fit but for Kubernetes' defect overdraftBlocksPool" in upstream.stdout
    safe = files.allocate(Defect.OVERDRAFT_BLOCKS_POOL, "--compat", "safe")
    assert safe.exit_code == 0
    assert "ns/new  n1    r0       d.example.com/p/d0" in safe.stdout
    assert "Defects of Kubernetes that make a difference:\n  claim ns/new on n1: one overdrawn counter" in safe.stdout


def test_the_list_has_the_defects_beside_the_claims(files: _Files) -> None:
    safe = json.loads(files.allocate(Defect.SHARES_ARE_NOT_IN_USE, "--compat", "safe", "-o", "json").stdout)
    (effect,) = safe["defects"]
    assert (effect["workload"], effect["defect"], effect["upstream"]) == ("claim ns/new", "sharesAreNotInUse", "fits")
    upstream = json.loads(files.allocate(Defect.SHARES_ARE_NOT_IN_USE, "-o", "json").stdout)
    assert "defects" not in upstream


def test_problems_are_answered_without_the_defects() -> None:
    slices, claim, allocated, _, _ = _CASES[Defect.ADMIN_ACCESS_DRAWS_COUNTERS]
    line = json.dumps(_problem(slices, [claim], allocated))
    upstream = CliRunner().invoke(allocate, ["--problems", "-"], input=line)
    assert json.loads(upstream.stdout) == {"name": "case", "allocation": None, "channel": "experimental"}
    safe = json.loads(CliRunner().invoke(allocate, ["--problems", "-", "--compat", "safe"], input=line).stdout)
    assert _devices(safe) == ["d0"]
    assert [one["defect"] for one in safe["defects"]] == ["adminAccessDrawsCounters"]
