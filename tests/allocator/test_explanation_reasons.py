"""One small cluster for each kind of reason, and exactly what is said of it."""

from __future__ import annotations

import textwrap
import time
from typing import Any

import pytest

from drakit_allocator.explanation import Inventory, explain, explanation_json, explanation_text
from drakit_allocator.features import Features
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object

_DRIVER = "gpu.example.com"
_NODE = {"metadata": {"name": "node-1"}}
_CLASSES = [
    {"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]}}
]


def _slice(name: str = "slice-a", count: int = 1, pool: str = "pool", generation: int = 1, **spec: Any) -> Object:
    where = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection", "nodeName"} & spec.keys() else _LOCAL
    of_pool = {"name": pool, "generation": generation, "resourceSliceCount": count}
    return {"metadata": {"name": name}, "spec": {"driver": _DRIVER, "pool": of_pool, **where, **spec}}


_LOCAL = {"nodeName": "node-1"}


def _request(name: str = "r", *expressions: str, count: int = 1, **more: Any) -> Object:
    exactly: Object = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
    return {"name": name, "exactly": exactly}


_ALL = {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}


def _claim(*requests: Object, constraints: Any = ()) -> Object:
    devices = {"requests": list(requests), "constraints": list(constraints)}
    return {"metadata": {"name": "new", "namespace": "default"}, "spec": {"devices": devices}}


def _held(name: str, *devices: str, pool: str = "pool", **result: Any) -> Object:
    results = [{"request": "r", "driver": _DRIVER, "pool": pool, "device": device, **result} for device in devices]
    return {
        "metadata": {"name": name, "namespace": "team"},
        "status": {"allocation": {"devices": {"results": results}}},
    }


def _explain(
    slices: list[Object],
    *requests: Object,
    held: Any = (),
    rules: Any = (),
    constraints: Any = (),
    features: Features | None = None,
) -> tuple[Object, str]:
    """The only node of the JSON form, and the text."""
    enabled = Features.from_gates(FeatureGates()) if features is None else features
    inventory = Inventory.of(enabled, slices=slices, classes=_CLASSES, taint_rules=rules, claims=held)
    explanation = explain([_claim(*requests, constraints=constraints)], [_NODE], inventory)
    said = explanation_json(explanation)
    return (said["nodes"][0] if said.get("nodes") else said), explanation_text(explanation)


def _attributes(**values: Any) -> Object:
    kinds = {str: "string", int: "int", bool: "bool"}
    return {"attributes": {name: {kinds[type(value)]: value} for name, value in values.items()}}


def _draws(**amounts: str) -> Object:
    counters = {name.replace("_", "-"): {"value": value} for name, value in amounts.items()}
    return {"consumesCounters": [{"counterSet": "gpu-0", "counters": counters}]}


_PROFILE = f'device.attributes["{_DRIVER}"].profile == "large"'
_COUNTERS = [{"name": name, "counters": {"memory": {"value": "4"}}} for name in ("gpu-0", "gpu-1")]
_TAINT = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
_ONE_OR_TWO = {"default": "1", "validValues": ["1", "2"]}
_BANDWIDTH = {"bw": {"value": "10", "requestPolicy": {"default": "4"}}}


def _reason(node: Object, position: int = 0) -> Object:
    reason: Object = node["claims"][0]["requests"][0]["ruledOut"][position]["reason"]
    return reason


@pytest.mark.parametrize(
    ("devices", "request_", "cluster", "reason"),
    [
        pytest.param(
            [{"name": "d", **_attributes(profile="small")}],
            _request("r", f'has(device.attributes["{_DRIVER}"].profile) && {_PROFILE}'),
            {},
            {
                "kind": "selector",
                "ownerKind": "request",
                "owner": "r",
                "number": 0,
                "expression": f'has(device.attributes["{_DRIVER}"].profile) && {_PROFILE}',
                "failed": [
                    {
                        "expression": _PROFILE,
                        "read": [{"field": "attributes", "domain": _DRIVER, "name": "profile", "value": "small"}],
                    }
                ],
            },
            id="the part of a selector that is false, and what it read",
        ),
        pytest.param(
            [{"name": "d"}],
            _request("r", _PROFILE),
            {},
            {
                "kind": "selectorError",
                "ownerKind": "request",
                "owner": "r",
                "number": 0,
                "expression": _PROFILE,
                "message": "no such key: profile",
                "read": [{"field": "attributes", "domain": _DRIVER, "name": "profile", "value": None}],
            },
            id="a selector that fails",
        ),
        pytest.param(
            [{"name": "d"}],
            _request(),
            {"held": [_held("first", "d")]},
            {"kind": "inUse", "holders": ["team/first"]},
            id="in use",
        ),
        pytest.param(
            [
                {"name": "half", **_draws(memory="2")},
                {"name": "whole", **_draws(memory="4"), **_attributes(whole=True)},
            ],
            _request("r", f'device.attributes["{_DRIVER}"].?whole.orValue(false)'),
            {"held": [_held("first", "half")], "counters": True},
            {
                "kind": "counters",
                "pool": f"{_DRIVER}/pool",
                "short": [
                    {
                        "counterSet": "gpu-0",
                        "counter": "memory",
                        "needed": "4",
                        "free": "2",
                        "total": "4",
                        "holders": [{"claim": "team/first", "device": f"{_DRIVER}/pool/half", "amount": "2"}],
                    }
                ],
            },
            id="counters: needed, free, and who holds the rest",
        ),
        pytest.param(
            [
                {"name": "big", **_draws(memory="3")},
                {"name": "huge", **_draws(memory="4")},
                {
                    "name": "other",
                    "consumesCounters": [{"counterSet": "gpu-1", "counters": {"memory": {"value": "1"}}}],
                },
            ],
            _request(),
            {"held": [_held("first", "big", "huge")], "counters": True},
            {
                "kind": "overdrawn",
                "pool": f"{_DRIVER}/pool",
                "counterSet": "gpu-0",
                "counter": "memory",
                "free": "-3",
                "total": "4",
                "holders": [
                    {"claim": "team/first", "device": f"{_DRIVER}/pool/big", "amount": "3"},
                    {"claim": "team/first", "device": f"{_DRIVER}/pool/huge", "amount": "4"},
                ],
                "blocks": "pool",
            },
            id="an overdrawn counter blocks the pool",
        ),
        pytest.param(
            [{"name": "d", "allowMultipleAllocations": True, "capacity": _BANDWIDTH}],
            _request(capacity={"requests": {"bw": "5"}}),
            {"held": [_held("first", "d", shareID="s", consumedCapacity={"bw": "6"})]},
            {
                "kind": "capacity",
                "capacity": "bw",
                "needed": "5",
                "free": "4",
                "total": "10",
                "holders": ["team/first"],
            },
            id="capacity that others share",
        ),
        pytest.param(
            [{"name": "d"}],
            _request(capacity={"requests": {"bw": "5"}}),
            {},
            {"kind": "capacityMissing", "capacity": "bw"},
            id="no such capacity",
        ),
        pytest.param(
            [
                {
                    "name": "d",
                    "capacity": {"bw": {"value": "10", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}}},
                }
            ],
            _request(capacity={"requests": {"bw": "5"}}),
            {},
            {"kind": "capacityPolicy", "requested": [["bw", "5"]], "message": "", "broken": "", "patches": []},
            id="an amount that the policy does not allow",
        ),
        pytest.param(
            [{"name": "d", "taints": [_TAINT]}],
            _request(),
            {},
            {"kind": "taint", "key": "broken", "value": "fan", "effect": "NoSchedule", "source": "slice"},
            id="a taint of the driver",
        ),
        pytest.param(
            [{"name": "d"}],
            _request(),
            {"rules": [{"metadata": {"name": "x"}, "spec": {"deviceSelector": {"device": "d"}, "taint": _TAINT}}]},
            {"kind": "taint", "key": "broken", "value": "fan", "effect": "NoSchedule", "source": "rule", "name": "x"},
            id="a taint of an administrator",
        ),
        pytest.param(
            [{"name": "d", "nodeName": "node-2"}],
            _request(),
            {"where": {"perDeviceNodeSelection": True}},
            {"kind": "nodeSelection", "selection": "nodeName: node-2"},
            id="a device for another node",
        ),
        pytest.param(
            [{"name": "d"}],
            _request(),
            {"constraints": [{"matchAttribute": f"{_DRIVER}/model"}]},
            {"kind": "attributeMissing", "constraint": 0, "attribute": f"{_DRIVER}/model"},
            id="nothing for a constraint to compare",
        ),
        pytest.param(
            [{"name": "d", "bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}],
            _request(),
            {"features": Features()},
            {
                "kind": "featureOff",
                "gates": ["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"],
                "need": "bindingConditions",
            },
            id="a feature that is off",
        ),
    ],
)
def test_each_device_has_its_reason(devices: list[Object], request_: Object, cluster: Object, reason: Object) -> None:
    where, has_counters = cluster.pop("where", _LOCAL), cluster.pop("counters", False)
    slices = [_slice("devices", 2 if has_counters else 1, devices=devices, **where)]
    if has_counters:
        slices.append(_slice("counters", 2, sharedCounters=_COUNTERS))
    node, text = _explain(slices, request_, **cluster)
    said = [group["reason"] for group in node["claims"][0]["requests"][0]["ruledOut"]]
    assert reason in said
    assert text.startswith("default/new: does not fit on node-1\n")


def test_a_selector_names_the_values_that_make_it_false() -> None:
    devices = [{"name": f"d{number}", **_attributes(profile=value)} for number, value in enumerate(["a", "b", "a"])]
    _, text = _explain([_slice(devices=devices)], _request("r", _PROFILE))
    assert text == textwrap.dedent(f"""\
        default/new: does not fit on node-1

        node-1: does not fit
          request r: 1 wanted, 0 of 3 devices can be used: not enough
            3 selector 0 of request r is false: {_PROFILE}
                profile is "a" (d0, d2)
                profile is "b" (d1)
          nothing would help: request r wants 1, and nothing matches on this node

        What is left: ask for fewer or other devices, or add a node that has them.
        """)


def test_counters_name_what_is_needed_what_is_free_and_who_has_the_rest() -> None:
    devices = [{"name": "half", **_draws(memory="2")}, {"name": "whole", **_draws(memory="4")}]
    slices = [_slice("a", 2, sharedCounters=_COUNTERS), _slice("b", 2, devices=devices)]
    node, text = _explain(slices, _request(), held=[_held("one", "half"), _held("two", "whole", pool="other")])
    assert text == textwrap.dedent("""\
        default/new: does not fit on node-1

        node-1: does not fit
          request r: 1 wanted, 0 of 2 devices can be used: not enough
            1 are in use
                half by team/one
            1 lack counters
                gpu-0, held by team/one: whole; whole needs memory 4 (free 2 of 4)
          would help: release team/one
        """)
    assert node["remedies"] == [{"kind": "release", "claims": ["team/one"]}]


def test_what_does_not_go_together_is_named_with_the_counters_in_the_way() -> None:
    devices = [{"name": "left", **_draws(memory="3")}, {"name": "right", **_draws(memory="3")}]
    slices = [_slice("a", 2, sharedCounters=_COUNTERS), _slice("b", 2, devices=devices)]
    node, text = _explain(slices, _request("x"), _request("y"), {"name": "z", "exactly": _request()["exactly"]})
    names = [{"claim": "default/new", "request": name} for name in "xy"]
    counter = {"pool": f"{_DRIVER}/pool", "counterSet": "gpu-0", "counter": "memory"}
    assert node["conflicts"] == [{"requests": names, "counters": [counter]}]
    assert "  requests x and y have enough devices each, but not together; too small: memory of gpu-0\n" in text


def test_a_constraint_shows_the_values_that_there_are() -> None:
    devices = [{"name": f"d{number}", **_attributes(model=model)} for number, model in enumerate("aabc")]
    model = f'device.attributes["{_DRIVER}"].model'
    node, text = _explain(
        [_slice(devices=devices)],
        _request("two", f'{model} == "a"', count=2),
        _request("one", f'{model} == "b"'),
        _request("free"),
        constraints=[{"matchAttribute": f"{_DRIVER}/model", "requests": ["two", "one"]}],
    )
    assert node["conflicts"] == [
        {
            "requests": [{"claim": "default/new", "request": "two"}, {"claim": "default/new", "request": "one"}],
            "constraints": [
                {
                    "claim": "default/new",
                    "constraint": 0,
                    "match": True,
                    "attribute": f"{_DRIVER}/model",
                    "requests": [
                        {"request": "two", "wanted": 2, "values": [["a", 2]]},
                        {"request": "one", "wanted": 1, "values": [["b", 1]]},
                    ],
                }
            ],
        }
    ]
    assert (
        "requests two and one have enough devices each, but not together; "
        f"constraint 0, matchAttribute {_DRIVER}/model: "
        "two wants 2, there are 2 with a; one wants 1, there are 1 with b\n"
    ) in text


@pytest.mark.parametrize(
    ("slices", "request_", "pool", "remedies", "line"),
    [
        pytest.param(
            [_slice("a", 3, devices=[{"name": "d"}], generation=7), _slice("b", 3, generation=7)],
            _request(),
            {
                "kind": "incompletePool",
                "pool": f"{_DRIVER}/pool",
                "generation": 7,
                "expected": 3,
                "slices": ["a", "b"],
            },
            [{"kind": "completePool", "pool": f"{_DRIVER}/pool"}],
            "pool gpu.example.com/pool is incomplete: 2 of 3 slices of generation 7 (a, b), 1 missing",
            id="incomplete",
        ),
        pytest.param(
            [_slice("a", 1, devices=[{"name": "d"}]), _slice("b", 2, pool="other")],
            _ALL,
            {
                "kind": "incompletePool",
                "pool": f"{_DRIVER}/other",
                "generation": 1,
                "expected": 2,
                "slices": ["b"],
            },
            [{"kind": "completePool", "pool": f"{_DRIVER}/other"}],
            "pool gpu.example.com/other is incomplete: 1 of 2 slices of generation 1 (b), 1 missing",
            id="another incomplete pool is in the way of all devices",
        ),
        pytest.param(
            [
                _slice("a", 1, devices=[{"name": "d"}]),
                _slice("b", 1, pool="bad", devices=[{"name": "e"}, {"name": "e"}]),
            ],
            _ALL,
            {"kind": "invalidPool", "pool": f"{_DRIVER}/bad", "message": "duplicate device name e"},
            [{"kind": "repairPool", "pool": f"{_DRIVER}/bad"}],
            "pool gpu.example.com/bad is invalid: duplicate device name e",
            id="an invalid pool is in the way of all devices",
        ),
        pytest.param(
            [
                _slice("a", 2, devices=[{"name": "d"}]),
                _slice("b", 2, generation=2, nodeName="node-2", devices=[{"name": "d"}]),
            ],
            _request(),
            {
                "kind": "hiddenPool",
                "pool": f"{_DRIVER}/pool",
                "slices": ["a"],
                "message": "generation 1 is being replaced: other nodes have slices of generation 2",
            },
            None,
            "pool gpu.example.com/pool is not seen: "
            "generation 1 is being replaced: other nodes have slices of generation 2",
            id="about to be replaced",
        ),
    ],
)
def test_pools_say_what_is_wrong_with_them(
    slices: list[Object], request_: Object, pool: Object, remedies: list[Object] | None, line: str
) -> None:
    node, text = _explain(slices, request_)
    assert node["pools"] == [pool]
    assert node.get("remedies") == remedies
    assert f"  {line}\n" in text


def test_the_taint_that_alone_is_in_the_way_is_named() -> None:
    devices = [{"name": "d", "taints": [_TAINT]}, {"name": "e", "taints": [_TAINT, {**_TAINT, "key": "old"}]}]
    node, text = _explain([_slice(devices=devices)], _request())
    assert node["remedies"] == [{"kind": "removeTaint", "key": "broken", "value": "fan", "effect": "NoSchedule"}]
    assert "  would help: remove or tolerate the taint broken=fan:NoSchedule\n" in text


def test_as_few_claims_as_possible_are_to_be_released() -> None:
    devices = [{"name": f"d{number}"} for number in range(4)]
    held = [_held("a", "d0"), _held("b", "d1", "d2"), _held("c", "d3")]
    node, _ = _explain([_slice(devices=devices)], _request(count=2), held=held)
    assert node["remedies"] == [{"kind": "release", "claims": ["team/b"]}]
    node, _ = _explain([_slice(devices=devices)], _request(count=3), held=held)
    assert node["remedies"] == [{"kind": "release", "claims": ["team/a", "team/b"]}]
    node, _ = _explain([_slice(devices=devices)], _request(count=5), held=held)
    assert "remedies" not in node


@pytest.mark.parametrize(
    ("devices", "request_", "why"),
    [
        pytest.param(
            [{"name": f"d{number}"} for number in range(8)],
            _request(count=9),
            "request r wants 9, and there are 8 that match on this node",
            id="more than exist",
        ),
        pytest.param(
            [{"name": "d"}, {"name": "e", "taints": [_TAINT]}],
            {
                "name": "r",
                "firstAvailable": [
                    {"name": "many", **_request(count=3)["exactly"]},
                    {"name": "more", **_request(count=4)["exactly"]},
                ],
            },
            "request r/many wants 3, and there are 2 that match on this node; "
            "request r/more wants 4, and there are 2 that match on this node",
            id="more than exist in all alternatives",
        ),
        pytest.param(
            [{"name": "d", "taints": [_TAINT, {**_TAINT, "key": "old"}]}],
            _request(),
            "neither releasing claims nor removing a taint or a patch, "
            "repairing a pool or switching on a feature gate does it alone",
            id="no single change is enough",
        ),
    ],
)
def test_what_nothing_would_help_says_so_and_what_is_left(devices: list[Object], request_: Object, why: str) -> None:
    held = [_held("a", "d0")]
    node, text = _explain([_slice(devices=devices)], request_, held=held)
    assert "remedies" not in node
    assert f"  nothing would help: {why}\n" in text
    assert text.endswith("\nWhat is left: ask for fewer or other devices, or add a node that has them.\n")


def test_where_slices_are_missing_something_may_help() -> None:
    _, text = _explain([_slice("a", 2, devices=[{"name": "d"}])], _request(count=2))
    assert "pool gpu.example.com/pool is incomplete" in text
    assert "nothing would help" not in text
    assert "What is left" not in text


def test_more_devices_than_a_claim_can_have() -> None:
    devices = [{"name": f"d{number}"} for number in range(40)]
    node, text = _explain([_slice(devices=devices)], _request("a", count=20), _request("b", count=20))
    assert node["outcome"] == "error"
    assert node["limits"] == [{"kind": "resultLimit", "claim": "default/new", "devices": 40, "limit": 32}]
    assert "  default/new: asks for 40 devices, a claim can have 32\n" in text
    assert [conflict["requests"] for conflict in node["conflicts"]] == [
        [{"claim": "default/new", "request": "a"}, {"claim": "default/new", "request": "b"}]
    ]


def test_alternatives_are_told_one_by_one() -> None:
    of = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    request = {"name": "r", "firstAvailable": [{"name": "two", "count": 2, **of}, {"name": "three", "count": 3, **of}]}
    node, _ = _explain([_slice(devices=[{"name": "d"}])], request)
    requests = node["claims"][0]["requests"]
    assert [(one["request"], one["wanted"], one["enough"]) for one in requests] == [
        ("r/two", 2, False),
        ("r/three", 3, False),
    ]
    assert node["conflicts"] == [{"requests": [{"claim": "default/new", "request": "r"}]}]


def test_devices_of_other_compatibility_groups_cannot_be_had() -> None:
    def draws(group: str) -> Object:
        counters = {"memory": {"value": "1"}}
        return {"consumesCounters": [{"counterSet": "gpu-0", "counters": counters, "compatibilityGroups": [group]}]}

    devices = [{"name": "mig", **draws("mig")}, {"name": "vgpu", **draws("vgpu")}]
    slices = [_slice("a", 2, sharedCounters=_COUNTERS), _slice("b", 2, devices=devices)]
    node, text = _explain(slices, _request(), held=[_held("first", "mig")], features=Features.all())
    assert _reason(node, 1) == {
        "kind": "compatibilityGroups",
        "pool": f"{_DRIVER}/pool",
        "counterSet": "gpu-0",
        "groups": ["vgpu"],
        "holders": ["team/first"],
    }
    assert "vgpu: groups vgpu on gpu-0, which team/first uses with others\n" in text


@pytest.mark.parametrize("failing", ["node-1", "node-2"])
def test_an_error_on_one_node_ends_the_attempt_for_all(failing: str) -> None:
    """kube-scheduler filters all nodes before it takes one, so it is the same whichever comes first."""
    nodes = [{"metadata": {"name": f"node-{number}"}} for number in (1, 2)]
    fitting = "node-2" if failing == "node-1" else "node-1"
    slices = [
        _slice("s1", pool="pool-1", nodeName=failing, devices=[{"name": "d"}]),
        _slice("s2", pool="pool-2", nodeName=fitting, devices=[{"name": "d", **_attributes(profile="large")}]),
    ]
    inventory = Inventory.of(Features(), slices=slices, classes=_CLASSES)
    explanation = explain([_claim(_request("r", _PROFILE))], nodes, inventory)
    found = {node.node: node for node in explanation.nodes}
    assert {name: node.outcome for name, node in found.items()} == {failing: "error", fitting: "fits"}
    heading, *told = explanation_text(explanation).split("\n\n")
    assert heading == "default/new: does not fit on any node: an error on one node ends the attempt to allocate"
    assert sorted(each.rstrip() for each in told) == sorted(
        [
            f"{fitting}: fits",
            textwrap.dedent(f"""\
            {failing}: error: {found[failing].message}
              request r: 1 wanted, 0 of 1 devices can be used: not enough
                1 fail a selector
                    d: no such key: profile"""),
        ]
    )


def test_a_class_that_does_not_exist_holds_on_every_node() -> None:
    said, text = _explain([_slice(devices=[{"name": "d"}])], _request(deviceClassName="tpu"))
    missing = {"kind": "missingClass", "claim": "default/new", "request": "r", "deviceClass": "tpu", "known": ["gpu"]}
    assert said["errors"] == [missing]
    assert text == ("default/new: does not fit\n  default/new, request r: there is no DeviceClass tpu; there are gpu\n")


def test_any_other_error_is_told_in_the_words_of_kubernetes() -> None:
    said, _ = _explain([], {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "Some"}})
    message = "claim default/new, request r: unsupported count mode Some"
    assert said["errors"] == [{"kind": "error", "message": message}]


def test_what_fits_is_said_with_node_and_devices() -> None:
    said, text = _explain([_slice(devices=[{"name": "d"}])], _request())
    given = [{"claim": "default/new", "devices": [{"request": "r", "device": f"{_DRIVER}/pool/d"}]}]
    assert said == {"claims": ["default/new"], "fits": True, "node": "node-1", "given": given}
    assert text == f"default/new: fits on node-1\n  default/new r: {_DRIVER}/pool/d\n"


def test_a_node_without_devices_says_so() -> None:
    _, text = _explain([_slice(devices=[{"name": "d"}], nodeName="node-2")], _request())
    assert "  request r: 1 wanted, there are no devices for this node: not enough\n" in text


def test_the_least_remedy_of_all_nodes_is_the_best() -> None:
    nodes = [{"metadata": {"name": f"node-{number}"}} for number in (1, 2)]
    slices = [
        _slice(f"s{number}", pool=f"pool-{number}", nodeName=f"node-{number}", devices=[{"name": "d"}, {"name": "e"}])
        for number in (1, 2)
    ]
    held = [_held("a", "d", pool="pool-1"), _held("b", "e", pool="pool-1"), _held("c", "d", "e", pool="pool-2")]
    inventory = Inventory.of(Features(), slices=slices, classes=_CLASSES, claims=held)
    explanation = explain([_claim(_request(count=2))], nodes, inventory)
    assert explanation_json(explanation)["best"] == [{"kind": "release", "claims": ["team/c"]}]
    assert explanation_text(explanation).endswith("\nLeast that would help: release team/c; then it fits on node-2.\n")


@pytest.mark.parametrize(
    "near",
    [
        pytest.param(_attributes(profile="small"), id="its driver is the wanted one"),
        pytest.param({**_attributes(profile="large"), "taints": [_TAINT]}, id="all is as wanted, but it is tainted"),
    ],
)
def test_of_many_nodes_those_are_described_that_come_closest(near: Object) -> None:
    wanted = _slice("wanted", pool="wanted", nodeName="node-5", devices=[{"name": "d", **near}])
    others = [_slice(f"s-{n}", pool=f"p-{n}", nodeName=f"node-{n}", devices=[{"name": "d"}]) for n in range(1, 5)]
    for other in others:
        other["spec"]["driver"] = "other.example.com"
    inventory = Inventory.of(Features.from_gates(FeatureGates()), slices=[*others, wanted], classes=_CLASSES)
    nodes = [{"metadata": {"name": f"node-{number}"}} for number in range(1, 6)]
    text = explanation_text(explain([_claim(_request("r", _PROFILE))], nodes, inventory))
    assert "\nnode-5: does not fit\n" in text
    assert "\nnode-3, node-4: request r: " in text


def test_when_time_is_up_it_says_what_was_left_out() -> None:
    devices = [{"name": f"d{number}"} for number in range(3)]
    inventory = Inventory.of(Features(), slices=[_slice(devices=devices)], classes=_CLASSES)
    nodes = [_NODE, {"metadata": {"name": "node-2"}}]
    explanation = explain([_claim(_request(count=5))], nodes, inventory, seconds=0.0)
    assert not explanation.fits
    assert [node.unfinished for node in explanation.nodes] == [("everything about this node",)] * 2


@pytest.mark.slow
def test_a_selector_that_takes_long_is_not_asked_of_all_devices() -> None:
    """Each device takes a good part of a second to run into the cost limit, and has another value."""
    numbers = str(list(range(40)))
    inner = f'{numbers}.all(d, a + b + c + d >= 0 - device.attributes["{_DRIVER}"].number)'
    endless = f"{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, {inner})))"
    devices = [{"name": f"d{number}", **_attributes(number=number)} for number in range(100)]
    inventory = Inventory.of(Features(), slices=[_slice(devices=devices)], classes=_CLASSES)
    started = time.monotonic()
    explanation = explain([_claim(_request("r", endless))], [_NODE], inventory, seconds=1.0)
    assert time.monotonic() - started < 20
    assert "the other devices" in explanation.nodes[0].unfinished
    # On a busy machine the second may be over before the first device is.
    assert explanation.nodes[0].message.endswith(("actual cost limit exceeded", "context deadline exceeded"))
