"""What is said of devices that ResourceSlicePatches have changed: each value from a patch names it."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.explanation import Inventory, explain, explanation_json, explanation_text, summary
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_api.kubernetes_objects import Object

_DRIVER = "gpu.example.com"
_NODE = {"metadata": {"name": "n1"}}
_CLASSES = [{"metadata": {"name": "gpu"}, "spec": {}}]
_ATTRIBUTES = f'device.attributes["{_DRIVER}"]'
_GOLD = f'{_ATTRIBUTES}.tier == "gold"'


def _slice(*devices: Object) -> Object:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "pool": pool, "nodeName": "n1", "devices": list(devices)}
    return {"metadata": {"name": "s"}, "spec": spec}


def _patch(name: str, device: str = "", priority: int = 0, **says: Any) -> Object:
    wanted = {"device": device} if device else {}
    return {"metadata": {"name": name}, "spec": {"devices": {"filter": wanted, "priority": priority, **says}}}


def _tier(value: str | None) -> Object:
    return {"attributes": {f"{_DRIVER}/tier": {"null": {}} if value is None else {"string": value}}}


def _device(name: str = "d0", **more: Any) -> Object:
    return {"name": name, **more}


def _silver(name: str = "d0") -> Object:
    return _device(name, attributes={"tier": {"string": "silver"}})


def _claim(*expressions: str, count: int = 1, constraints: Any = (), **more: Any) -> Object:
    exactly: Object = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    exactly["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
    devices = {"requests": [{"name": "r", "exactly": exactly}], "constraints": list(constraints)}
    return {"metadata": {"name": "new", "namespace": "default"}, "spec": {"devices": devices}}


def _inventory(slices: list[Object], patches: list[Object], **more: Any) -> Inventory:
    return Inventory.of(Features.all(), slices=slices, classes=_CLASSES, patches=patches, **more)


def _explained(claim: Object, devices: list[Object], patches: list[Object], **more: Any) -> tuple[Object, str]:
    explanation = explain([claim], [_NODE], _inventory([_slice(*devices)], patches, **more))
    return explanation_json(explanation), explanation_text(explanation)


_TAINT: Object = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
_SHARED: Object = {
    "allowMultipleAllocations": True,
    "capacity": {"memory": {"value": "40Gi", "requestPolicy": {"default": "1Gi"}}},
}
_SMALL = {"default": "1Gi", "validValues": ["1Gi", "2Gi"]}
_NO_MEMORY: Object = {"capacity": {f"{_DRIVER}/memory": {"value": "0"}}}


@pytest.mark.parametrize(
    ("claim", "device", "patches", "line"),
    [
        pytest.param(
            _claim(_GOLD),
            _silver(),
            [_patch("maintenance", **_tier("bronze"))],
            'tier is "bronze" (patch maintenance) (d0)',
            id="an attribute that a patch sets",
        ),
        pytest.param(
            _claim(f"has({_ATTRIBUTES}.tier)"),
            _silver(),
            [_patch("maintenance", **_tier(None)), _patch("other", priority=-1, **_tier("gold"))],
            "tier is not set (removed by patch maintenance) (d0)",
            id="an attribute that a patch removes, also against one that is weaker",
        ),
        pytest.param(
            _claim(f"has({_ATTRIBUTES}.tier)"),
            _device(),
            [_patch("maintenance", **_tier(None))],
            "tier is not set (d0)",
            id="an attribute that was not there anyway",
        ),
        pytest.param(
            _claim(_GOLD),
            _silver(),
            [_patch("maintenance", **_tier(None))],
            "d0: no such key: tier: tier is not set (removed by patch maintenance)",
            id="a selector that fails because of a patch",
        ),
        pytest.param(
            _claim(f'{_ATTRIBUTES}.exists(name, name == "zone")'),
            _silver(),
            [_patch("b", **_tier(None)), _patch("a", attributes={f"{_DRIVER}/rack": {"int": 7}})],
            f"{_DRIVER} has rack (changed by patches a and b) (d0)",
            id="a domain of which patches change the names",
        ),
        pytest.param(
            _claim(f'device.capacity["{_DRIVER}"].memory.compareTo(quantity("1Gi")) >= 0'),
            _device(**_SHARED),
            [_patch("maintenance", **_NO_MEMORY)],
            "memory is 0 (patch maintenance) (d0)",
            id="a capacity of 0",
        ),
        pytest.param(
            _claim(capacity={"requests": {"memory": "10Gi"}}),
            _device(**_SHARED),
            [_patch("maintenance", capacity={f"{_DRIVER}/memory": {"value": "40Gi", "requestPolicy": _SMALL}})],
            "d0: the request policy does not allow the amount (patch maintenance)",
            id="a request policy",
        ),
        pytest.param(
            _claim(capacity={"requests": {"memory": "10Gi"}}),
            _device(**_SHARED),
            [_patch("maintenance", **_NO_MEMORY)],
            "d0: memory: needs 10Gi, free 0 (patch maintenance)",
            id="a request for more than is left of a capacity",
        ),
        pytest.param(
            _claim(),
            _device(),
            [_patch("maintenance", taints=[_TAINT])],
            "d0: broken=fan:NoSchedule (patch maintenance)",
            id="a taint",
        ),
        pytest.param(
            _claim(constraints=[{"matchAttribute": f"{_DRIVER}/tier"}]),
            _silver(),
            [_patch("maintenance", **_tier(None))],
            f"d0: {_DRIVER}/tier of constraint 0 (removed by patch maintenance)",
            id="an attribute that a constraint compares",
        ),
    ],
)
def test_what_a_patch_has_changed_names_it(claim: Object, device: Object, patches: list[Object], line: str) -> None:
    inventory = _inventory([_slice(device)], patches)
    text = explanation_text(explain([claim], [_NODE], inventory))
    assert line in [one.strip() for one in text.splitlines()]
    # The event of a scheduler uses the same words.
    pod = PodAllocation([claim], inventory.snapshot(), AllocatedState.of((), inventory.features))
    said = line.removesuffix(" (d0)").removeprefix("d0: ")
    assert f"{said})" in summary(pod, Node.of(_NODE))


def test_the_shares_that_are_left_of_a_patched_capacity_name_it() -> None:
    less: Object = {"capacity": {f"{_DRIVER}/memory": {"value": "10Gi", "requestPolicy": {"default": "1Gi"}}}}
    result: Object = {"request": "r", "driver": _DRIVER, "pool": "n1", "device": "d0", "shareID": "s"}
    result["consumedCapacity"] = {"memory": "8Gi"}
    held: Object = {"metadata": {"name": "first", "namespace": "team"}}
    held["status"] = {"allocation": {"devices": {"results": [result]}}}
    claim = _claim(capacity={"requests": {"memory": "4Gi"}})
    said, text = _explained(claim, [_device(**_SHARED)], [_patch("halved", **less)], claims=[held])
    assert "d0: memory: needs 4Gi, free 2Gi (patch halved), held by team/first" in text
    (ruled_out,) = said["nodes"][0]["claims"][0]["requests"][0]["ruledOut"]
    assert ruled_out["reason"]["patch"] == "halved"


def test_the_json_form_names_patches_beside_values() -> None:
    said, _ = _explained(_claim(_GOLD), [_silver("d0"), _silver("d1")], [_patch("p", "d0", **_tier("bronze"))])
    (patched, published) = said["nodes"][0]["claims"][0]["requests"][0]["ruledOut"]
    read = {"field": "attributes", "domain": _DRIVER, "name": "tier"}
    assert patched["reason"]["failed"][0]["read"] == [{**read, "value": "bronze", "patches": ["p"]}]
    assert published["reason"]["failed"][0]["read"] == [{**read, "value": "silver"}]


def test_taints_name_their_rule_or_patch() -> None:
    rule = {"metadata": {"name": "ours"}, "spec": {"deviceSelector": {"device": "d0"}, "taint": _TAINT}}
    said, text = _explained(
        _claim(), [_device("d0"), _device("d1")], [_patch("p", "d1", taints=[_TAINT])], taint_rules=[rule]
    )
    reasons = [one["reason"] for one in said["nodes"][0]["claims"][0]["requests"][0]["ruledOut"]]
    assert [(one["source"], one["name"]) for one in reasons] == [("rule", "ours"), ("patch", "p")]
    assert "d0: broken=fan:NoSchedule (rule ours)" in text


def test_every_taint_in_the_way_is_named() -> None:
    """A pod that tolerates the first one only would wait again."""
    other = {"key": "aged", "effect": "NoExecute"}
    rule = {"metadata": {"name": "ours"}, "spec": {"deviceSelector": {"device": "d0"}, "taint": _TAINT}}
    patches = [_patch("p", taints=[other, {"key": "noted", "effect": "None"}])]
    said, text = _explained(_claim(), [_device()], patches, taint_rules=[rule])
    assert "broken=fan:NoSchedule (rule ours) and aged=:NoExecute (patch p)" in text
    (ruled_out,) = said["nodes"][0]["claims"][0]["requests"][0]["ruledOut"]
    assert [(one["source"], one["name"]) for one in ruled_out["reason"]["others"]] == [("patch", "p")]


def test_values_of_different_types_are_told_apart() -> None:
    devices = [_device("d0"), _device("d1", attributes={"rack": {"string": "east"}})]
    rack = f"{_DRIVER}/rack"
    patches = [_patch("a", "d0", attributes={rack: {"int": 8}}), _patch("b", "d1", attributes={rack: {"string": "8"}})]
    _, text = _explained(_claim(count=2, constraints=[{"matchAttribute": rack}]), devices, patches)
    assert 'there are 1 with "8" (patch b), 1 with 8 (patch a)' in text


def test_what_a_patch_says_in_vain_is_noted() -> None:
    gates = ["DRAListTypeAttributes", "DRADeviceTaints"]
    patch = _patch("p", attributes={f"{_DRIVER}/tiers": {"strings": ["gold"]}}, taints=[_TAINT])
    features = Features.all().without_gates(gates)
    inventory = Inventory.of(features, slices=[_slice(_silver())], classes=_CLASSES, patches=[patch])
    explanation = explain([_claim(_GOLD)], [_NODE], inventory)
    for part, gate in zip(("lists", "taints"), gates, strict=True):
        line = f"note: patch p says {part} in vain: they need the feature gate {gate}, which is off\n"
        assert line in explanation_text(explanation)
        assert {"patch": "p", "part": part, "gate": gate} in explanation_json(explanation)["silencedPatches"]


def test_constraints_say_which_of_the_values_are_of_patches() -> None:
    devices = [_silver(f"d{number}") for number in range(4)]
    patches = [
        _patch("a", "d0", **_tier("gold")),
        _patch("b", "d1", **_tier("silver")),
        _patch("c", "d2", **_tier(None)),
    ]
    claim = _claim(count=3, constraints=[{"distinctAttribute": f"{_DRIVER}/tier"}])
    said, text = _explained(claim, devices, patches)
    assert "there are 1 with gold (patch a), 2 with silver (1 by patch b)" in text
    (values,) = said["nodes"][0]["conflicts"][0]["constraints"][0]["requests"]
    assert values["patched"] == [
        {"patch": "a", "devices": 1, "value": "gold"},
        {"patch": "b", "devices": 1, "value": "silver"},
    ]


@pytest.mark.parametrize(
    ("claim", "patches", "remedies"),
    [
        pytest.param(
            _claim(f'{_ATTRIBUTES}.tier == "silver"'),
            [_patch("keeps"), _patch("hides", **_tier("gold"))],
            [{"kind": "changePatches", "patches": ["hides"]}],
            id="a patch in the way",
        ),
        pytest.param(
            _claim(f'{_ATTRIBUTES}.tier == "silver"'),
            [_patch("first", priority=1, **_tier("gold")), _patch("second", **_tier(None))],
            [{"kind": "changePatches", "patches": ["first", "second"]}],
            id="two patches in the way",
        ),
        pytest.param(
            _claim(_GOLD, f'device.capacity["{_DRIVER}"].memory.compareTo(quantity("1Gi")) >= 0'),
            [_patch("gilds", **_tier("gold")), _patch("empties", **_NO_MEMORY)],
            [{"kind": "changePatches", "patches": ["empties"]}],
            id="one in the way, and one that is needed",
        ),
        pytest.param(
            _claim(),
            [_patch("tainting", taints=[_TAINT]), _patch("again", taints=[_TAINT])],
            [{"kind": "removeTaint", **_TAINT, "patches": ["again", "tainting"]}],
            id="a taint of two patches",
        ),
        pytest.param(
            _claim(_GOLD), [_patch("p", priority=1, **_tier("bronze"))], [], id="a patch that makes no difference"
        ),
    ],
)
def test_what_would_help_is_to_change_patches(claim: Object, patches: list[Object], remedies: list[Object]) -> None:
    device = _silver() | {"capacity": _SHARED["capacity"]}
    said, text = _explained(claim, [device], patches)
    assert said["nodes"][0].get("remedies", []) == remedies
    for remedy in remedies:
        assert all(name in text.partition("would help: ")[2] for name in remedy["patches"])


def test_the_other_patches_stay_where_a_taint_is_removed() -> None:
    said, _ = _explained(_claim(_GOLD), [_silver()], [_patch("p", taints=[_TAINT], **_tier("gold"))])
    assert said["nodes"][0]["remedies"] == [{"kind": "removeTaint", **_TAINT, "patches": ["p"]}]


def test_a_list_by_patch_that_is_switched_off_names_its_gate() -> None:
    patch = _patch("p", attributes={f"{_DRIVER}/tiers": {"strings": ["gold"]}})
    features = Features.all().without_gates(["DRAListTypeAttributes"])
    claim = _claim(f'"tiers" in {_ATTRIBUTES}')
    inventory = Inventory.of(features, slices=[_slice(_silver())], classes=_CLASSES, patches=[patch])
    said = explanation_json(explain([claim], [_NODE], inventory))
    assert said["best"] == [{"kind": "enableGates", "gates": ["DRAListTypeAttributes"]}]


def test_faulty_patches_are_told_once() -> None:
    failing = _patch("failing", **_tier("gold"))
    failing["spec"]["devices"]["filter"] = {"selectors": [{"cel": {"expression": f"{_ATTRIBUTES}.index > 0"}}]}
    lost = _patch("lost", **_tier("gold"))
    lost["spec"]["devices"]["filter"] = {"deviceClassName": "nowhere"}
    elsewhere = _patch("elsewhere", **_tier("gold"))
    elsewhere["spec"]["devices"]["filter"] = {"deviceClassName": "nowhere", "pool": "n2"}
    said, text = _explained(_claim(_GOLD), [_silver("d0"), _silver("d1")], [failing, lost, elsewhere])
    assert [one["patch"] for one in said["faultyPatches"]] == ["failing", "lost"]
    assert text.count("patch failing") == 1
    assert "note: patch lost applies to no device: there is no DeviceClass nowhere\n" in text
    assert (
        f"note: patch failing does not apply to device {_DRIVER}/n1/d0: selector {_ATTRIBUTES}.index > 0:"
        " no such key: index\n" in text
    )


def test_devices_of_other_nodes_are_those_with_patches() -> None:
    slices = [_slice(_silver())]
    far = _slice(_silver("far"))
    far["metadata"]["name"] = "far"
    far["spec"]["pool"] = {**far["spec"]["pool"], "name": "net"}
    del far["spec"]["nodeName"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    far["spec"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    inventory = _inventory([*slices, far], [_patch("p", "far", **_tier("gold"))])
    said = explanation_json(explain([_claim(_GOLD)], [_NODE], inventory))
    ruled_out = said["nodes"][0]["claims"][0]["requests"][0]["ruledOut"]
    assert [one["reason"]["kind"] for one in ruled_out] == ["selector", "nodeSelection"]
