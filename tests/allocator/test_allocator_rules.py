"""Single rules: counters, capacities, constraints, features, and what is said when nothing fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.cli.allocate_command import allocate as allocate_command
from drakit_allocator.devices.capacity import CapacityError, consumed, fits, parse_limits, parse_requests
from drakit_allocator.devices.counters import Availability, DuplicateCounterSet, PoolCounters, parse_consumption
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.explanation.summary import summary
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.compared_attributes import Attribute
from drakit_allocator.pools.views import PoolView
from drakit_allocator.search.numbering import Numbering
from drakit_allocator.search.values import Column, Distinct, Match, State
from drakit_allocator.snapshot import Snapshot
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object


def _counters(**sets: dict[str, str]) -> PoolCounters:
    return PoolCounters.of(
        {"name": name, "counters": {counter: {"value": value} for counter, value in counters.items()}}
        for name, counters in sets.items()
    )


def _draws(counter_set: str, **amounts: str) -> Object:
    return {"counterSet": counter_set, "counters": {name: {"value": value} for name, value in amounts.items()}}


def test_counters_are_exact() -> None:
    counters = _counters(gpu={"memory": "40Gi", "cores": "1"})
    needs = counters.layout.needs(parse_consumption({"consumesCounters": [_draws("gpu", memory="1", cores="100m")]}))
    nine = Availability(counters, [needs] * 9)
    assert nine.shortage(needs) is None
    ten = Availability(counters, [needs] * 10)
    assert counters.layout.names[ten.shortage(needs) or 0] == ("gpu", "cores")
    assert not ten.overdrawn
    assert Availability(counters, [needs] * 11).overdrawn


def test_equal_counter_sets_share_their_numbering() -> None:
    assert _counters(gpu={"memory": "1"}).layout is _counters(gpu={"memory": "2"}).layout


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        pytest.param(_draws("cpu", memory="1"), "counter set cpu not found", id="set"),
        pytest.param(_draws("gpu", cores="1"), "counter cores not found in counter set gpu", id="counter"),
    ],
)
def test_unknown_counters_make_a_pool_invalid(draws: Object, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        _counters(gpu={"memory": "1"}).layout.needs(parse_consumption({"consumesCounters": [draws]}))


def test_two_counter_sets_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateCounterSet, match="duplicate counter set name gpu"):
        PoolCounters.of([{"name": "gpu"}, {"name": "gpu"}])


_RANGE = {"validRange": {"min": "1", "max": "8", "step": "2"}}


@pytest.mark.parametrize(
    ("value", "policy", "request_", "fractional", "expected"),
    [
        pytest.param("10Gi", None, None, False, "10Gi", id="no request, no policy: all of it"),
        pytest.param("10Gi", {"default": "1Gi"}, None, False, "1Gi", id="no request: the default"),
        pytest.param("10Gi", None, "3Gi", False, "3Gi", id="no policy: as requested"),
        pytest.param("10", _RANGE, "500m", False, "1", id="below min: min"),
        pytest.param("10", _RANGE, "2", False, "3", id="up to the next step"),
        pytest.param("10", _RANGE, "7", False, "7", id="on a step"),
        pytest.param("10", _RANGE, "7500m", False, None, id="rounded above max"),
        pytest.param("10", {"validValues": ["1", "4"]}, "2", False, "4", id="next valid value"),
        pytest.param("10", {"validValues": ["1", "4"]}, "5", False, None, id="above all valid values"),
        pytest.param("2", {"validRange": {"min": "250m", "step": "250m"}}, "600m", True, "750m", id="milli steps"),
        pytest.param("2", {"validRange": {"min": "250m", "step": "250m"}}, "600m", False, "1", id="whole steps"),
        pytest.param("4Ki", {"validRange": {"min": "1Ki", "step": "1Ki"}}, "1025", False, "2Ki", id="notation of step"),
    ],
)
def test_what_a_request_takes_of_a_capacity(
    value: str, policy: Object | None, request_: str | None, fractional: bool, expected: str | None
) -> None:
    capacity: Object = {"value": value} if policy is None else {"value": value, "requestPolicy": policy}
    requests = parse_requests(None if request_ is None else {"requests": {"bw": request_}})
    amounts = consumed(parse_limits({"capacity": {"bw": capacity}}), requests, fractional=fractional)
    assert (None if amounts is None else str(amounts["bw"])) == expected


def test_a_capacity_that_the_device_does_not_have() -> None:
    assert consumed({}, parse_requests({"requests": {"bw": "1"}}), fractional=False) is None


@pytest.mark.parametrize(
    ("policy", "request_", "message"),
    [
        pytest.param(None, "-1", "capacity value is negative", id="negative"),
        pytest.param(_RANGE, "1e30", "exceeds MaxInt64", id="beyond 64 bits"),
        pytest.param({"validRange": {"min": "0", "step": "4E"}}, "9E", "passes MaxInt64", id="rounds beyond 64 bits"),
        pytest.param({"validRange": {"min": "0", "step": "0"}}, "1", "step 0", id="step 0 (upstream panics)"),
        pytest.param({"validRange": {"step": "1"}}, "1", "no min", id="no min (upstream panics)"),
    ],
)
def test_capacity_requests_that_fail_the_allocation(policy: Object | None, request_: str, message: str) -> None:
    capacity: Object = {"value": "10"} if policy is None else {"value": "10", "requestPolicy": policy}
    with pytest.raises(CapacityError, match=message):
        consumed(
            parse_limits({"capacity": {"bw": capacity}}),
            parse_requests({"requests": {"bw": request_}}),
            fractional=False,
        )


def test_shares_add_up() -> None:
    limits = parse_limits({"capacity": {"bw": {"value": "1"}}})
    amounts = parse_requests({"requests": {"bw": "100m"}})
    assert fits(limits, amounts, {"bw": 500_000_000}, {"bw": 400_000_000})
    assert not fits(limits, amounts, {"bw": 500_000_000}, {"bw": 400_000_001})


_NONE: Object = {}


@pytest.mark.parametrize(
    ("kind", "lists", "values", "expected"),
    [
        pytest.param("match", False, [{"int": 1}, {"int": 1}, {"int": 2}], [True, True, False], id="same value"),
        pytest.param("match", False, [{"int": 1}, {"bool": True}], [True, False], id="1 is not true"),
        pytest.param("match", False, [{"string": "1.0.0"}, {"version": "1.0.0"}], [True, False], id="types differ"),
        pytest.param("match", False, [None, {"int": 1}], [False, True], id="without the attribute"),
        pytest.param("match", False, [_NONE, {"int": 1}], [True, False], id="first of no known type"),
        pytest.param("match", True, [_NONE, {"int": 1}], [False, True], id="no known type, with lists"),
        pytest.param(
            "match",
            True,
            [{"ints": [1, 2]}, {"ints": [2, 3]}, {"ints": [1, 3]}, {"int": 2}],
            [True, True, False, True],
            id="one value in common",
        ),
        pytest.param("distinct", False, [{"int": 1}, {"int": 2}, {"int": 1}], [True, True, False], id="distinct"),
        pytest.param("distinct", False, [{"int": 1}, {"bool": True}], [True, True], id="distinct types"),
        pytest.param(
            "distinct", True, [{"ints": [1, 2]}, {"ints": [2]}, {"int": 3}], [True, False, True], id="disjoint"
        ),
    ],
)
def test_constraints(kind: str, lists: bool, values: list[Object | None], expected: list[bool]) -> None:
    column = _column(Attribute("d.example.com/a", None, as_set=lists), values)
    state: State = Match() if kind == "match" else Distinct()
    for position, allowed in enumerate(expected):
        assert bool(state.allowed(column) >> position & 1) is allowed
        if allowed:
            state = state.after(column.elements[position])


def _column(attribute: Attribute, values: list[Object | None]) -> Column:
    """What the attribute is on devices with these values of ``a``."""
    devices = [
        {"name": f"d{number}", "attributes": {} if value is None else {"a": value}}
        for number, value in enumerate(values)
    ]
    spec = {"driver": "d.example.com", "pool": {"name": "p"}, "devices": devices}
    pool = PoolView(("d.example.com", "p"), Features.all(), [PublishedSlice({"metadata": {"name": "s"}, "spec": spec})])
    return Column(attribute, Numbering([pool]), pool.shape.everything)


def _device(attributes: Object) -> Any:
    spec = {"driver": "d.example.com", "pool": {"name": "p"}, "devices": [{"name": "d", "attributes": attributes}]}
    return PublishedSlice({"metadata": {"name": "s"}, "spec": spec}).devices[0]


def test_the_qualified_attribute_is_preferred() -> None:
    device = _device({"a": {"int": 1}, "d.example.com/a": {"int": 2}})
    value = Attribute("d.example.com/a", None, False).of(device)
    assert value is not None
    assert value.content == 2
    assert Attribute("other.example.com/a", None, False).of(device) is None


def test_equal_devices_share_all_but_their_names() -> None:
    one, other = (_device({"a": {"int": 1}, "b": {"int": number}}) for number in (1, 2))
    assert one.content.traits is other.content.traits
    assert one.slice.column("a") is other.slice.column("a")
    assert one.slice.column("b") is not other.slice.column("b")


@pytest.mark.parametrize(
    ("features", "variant"),
    [
        pytest.param(Features(), "stable", id="nothing"),
        pytest.param(Features.from_gates(FeatureGates("1.34")), "stable", id="1.34"),
        pytest.param(Features.from_gates(FeatureGates()), "incubating", id="1.37"),
        pytest.param(Features.from_names(["ListTypeAttributes"]), "experimental", id="lists"),
        pytest.param(Features().forced("incubating"), "incubating", id="forced"),
    ],
)
def test_features_select_the_variant(features: Features, variant: str) -> None:
    assert features.variant == variant


def test_unknown_features_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown allocator feature Quantum; known are AdminAccess, .*PrioritizedList"
    ):
        Features.from_names(["Quantum"])


def _partition(name: str, profile: str, slot: int) -> Object:
    return {
        "name": name,
        "attributes": {"profile": {"string": profile}},
        "consumesCounters": [_draws("gpu-0", **{f"slice-{slot}": "1"})],
    }


def _explained(claim_devices: Object, *allocated: str, **features: Any) -> str:
    enabled = Features.from_gates(FeatureGates())
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 2}
    where = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool}
    sets = [{"name": "gpu-0", "counters": {f"slice-{slot}": {"value": "1"} for slot in range(2)}}]
    small = [_partition(f"small-{slot}", "small", slot) for slot in range(2)]
    large = {
        **_partition("large", "large", 0),
        "consumesCounters": [_draws("gpu-0", **{"slice-0": "1", "slice-1": "1"})],
    }
    tainted = {
        "name": "old",
        "taints": [{"key": "broken", "effect": "NoSchedule"}],
        "attributes": {"profile": {"string": "old"}},
    }
    slices = [
        {"metadata": {"name": "a"}, "spec": {**where, "sharedCounters": sets}},
        {"metadata": {"name": "b"}, "spec": {**where, "devices": [*small, large, tainted]}},
    ]
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "node-1", "device": name} for name in allocated]
    holder = {
        "metadata": {"name": "holder", "namespace": "ns"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    snapshot = Snapshot(enabled, slices=slices, classes=[{"metadata": {"name": "gpu"}, "spec": {}}])
    claim = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": claim_devices}}
    pod = PodAllocation([claim], snapshot, AllocatedState.of([holder], enabled))
    node = Node("node-1", {})
    assert pod.on(node) is None
    return summary(pod, node)


def _wants(name: str, profile: str, count: int = 1) -> Object:
    expression = f'device.attributes["gpu.example.com"].profile == "{profile}"'
    selectors = [{"cel": {"expression": expression}}]
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, "selectors": selectors}
    return {"name": name, "exactly": exactly}


@pytest.mark.parametrize(
    ("requests", "allocated", "expected"),
    [
        pytest.param(
            [_wants("r", "large")],
            ["small-1"],
            "request r: 4 devices: 3 do not match selectors, "
            "1 lack counters (large: slice-1 of gpu-0: needs 1, free 0, held by ns/holder)",
            id="counters",
        ),
        pytest.param(
            [_wants("r", "small", 2)],
            ["small-0"],
            "request r: 4 devices: 1 are in use (small-0 by ns/holder), 2 do not match selectors, "
            "1 can be used, 2 are wanted",
            id="in use",
        ),
        pytest.param(
            [_wants("r", "old")],
            [],
            "request r: 4 devices: 3 do not match selectors, 1 have taints that are not tolerated (broken=:NoSchedule)",
            id="taints",
        ),
        pytest.param(
            [_wants("r", 'large" && device.driver == "other.example.com')],
            [],
            'request r: 4 devices: 4 do not match selectors (device.driver == "other.example.com": '
            'driver is "gpu.example.com")',
            id="the one that comes nearest",
        ),
        pytest.param(
            [_wants("r", "large"), _wants("s", "small")],
            [],
            "requests r and s have enough devices each, but not together",
            id="not together",
        ),
    ],
)
def test_a_summary_says_what_is_missing(requests: list[Object], allocated: list[str], expected: str) -> None:
    assert _explained({"requests": requests}, *allocated) == expected


def _problem(name: str) -> Object:
    device = {"name": "d0"}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": [device]}
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    classes = [{"metadata": {"name": "any"}, "spec": {}}]
    node = {"metadata": {"name": "n"}}
    slices = [{"metadata": {"name": "s"}, "spec": spec}]
    return {"name": name, "features": {}, "node": node, "classes": classes, "slices": slices, "claims": [claim]}


def test_the_command_answers_line_by_line() -> None:
    lines = "\n".join(json.dumps(_problem(name)) for name in ("one", "two"))
    result = CliRunner().invoke(allocate_command, ["--problems", "-"], input=lines)
    assert result.exit_code == 0
    answers = [json.loads(line) for line in result.output.splitlines()]
    assert [answer["name"] for answer in answers] == ["one", "two"]
    assert answers[0]["allocation"][0]["devices"]["results"][0]["device"] == "d0"


_MALFORMED = [
    pytest.param("{", "", id="no JSON"),
    pytest.param("[1]", "an object is expected, not list", id="no object"),
    pytest.param('{"name": "x"}', "features: required", id="a field"),
    pytest.param(_problem("x") | {"features": ["all"]}, "features: an object is expected, not list", id="features"),
    pytest.param(_problem("x") | {"features": {"Y": True}}, "unknown allocator feature Y; known are Ad", id="feature"),
    pytest.param(_problem("x") | {"node": "n"}, "node: an object is expected, not string", id="node"),
    pytest.param(_problem("x") | {"slices": {"a": 1}}, "slices: a list is expected, not object", id="no list"),
    pytest.param(_problem("x") | {"claims": [3]}, "claims[0]: an object is expected, not number", id="no claim"),
    pytest.param(_problem("x") | {"slices": [{"metadata": {}}]}, "slices[0].spec: required", id="no spec"),
    pytest.param(_problem("x") | {"allocatedState": []}, "allocatedState: an object is", id="allocated state"),
]


@pytest.mark.parametrize(("line", "message"), _MALFORMED)
def test_the_command_refuses_what_is_no_problem(line: str | Object, message: str) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    result = CliRunner().invoke(allocate_command, ["--problems", "-"], input=text)
    assert result.exit_code == 2
    assert f"line 1: not an allocation problem: {message}" in result.stderr


def _with_device(**fields: Any) -> Object:
    problem = _problem("x")
    problem["slices"][0]["spec"]["devices"] = [{"name": "d0"} | fields]
    return problem | {"features": {"all": True}}


def _with_request(**fields: Any) -> Object:
    problem = _problem("x")
    problem["claims"][0]["spec"]["devices"]["requests"][0]["exactly"] |= fields
    return problem


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        pytest.param(_with_device(attributes={"x": 5}), "slices[0]: json: cannot unmarshal number", id="attribute"),
        pytest.param(_with_device(capacity={"m": {"value": "a"}}), "slices[0]: quantities must match", id="quantity"),
        pytest.param(_with_request(count="2"), "claims[0]: json: cannot unmarshal string into Go struct", id="count"),
        pytest.param(
            _problem("x") | {"slices": [{"metadata": {"name": "s"}, "spec": {"driver": "d", "nodeName": "n"}}]},
            "slices[0]: spec.pool.name: Required value",
            id="no pool",
        ),
    ],
)
def test_the_field_deep_inside_a_problem_is_named(problem: Object, message: str) -> None:
    result = CliRunner().invoke(allocate_command, ["--problems", "-"], input=json.dumps(problem))
    assert result.exit_code == 2
    assert f"line 1: not an allocation problem: {message}" in result.stderr


def test_problems_behind_one_that_is_none_are_answered() -> None:
    lines = "\n".join([json.dumps(_problem("one")), "{", json.dumps(_problem("two"))])
    result = CliRunner().invoke(allocate_command, ["--problems", "-"], input=lines)
    assert result.exit_code == 2
    assert [json.loads(line)["name"] for line in result.stdout.splitlines()] == ["one", "two"]
    assert "line 2: not an allocation problem: " in result.stderr


def test_lists_of_a_problem_may_be_null() -> None:
    problem = _problem("x") | {"slices": None, "allocated": None, "taintRules": None}
    result = CliRunner().invoke(allocate_command, ["--problems", "-"], input=json.dumps(problem))
    assert result.exit_code == 0
    assert json.loads(result.stdout)["allocation"] is None
