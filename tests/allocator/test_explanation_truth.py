"""Whatever does not fit is explained, and every statement of the explanation is true: on random small clusters."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drakit_allocator.explanation import Inventory, explain, explanation_json, explanation_text
from drakit_allocator.features import Features
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from tests.allocator.explanation_checker import DRIVER, SELECTORS, Judge, Objects

pytestmark = pytest.mark.slow

_NODES = ("node-1", "node-2")
_FEATURES = (Features.all(), Features.from_gates(FeatureGates()), Features.all().forced("stable"))


def _spec(pool: str, generation: int, count: int, **more: Any) -> Object:
    return {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        **more,
    }


def _taint(random: Random) -> Object:
    return {"key": random.choice(["k", "l"]), "effect": random.choice(["NoSchedule", "NoExecute", "None"])}


def _device(random: Random, number: int, *, draws: bool) -> Object:
    attributes: Object = {"group": {"int": random.randrange(3)}}
    if random.random() < 0.9:
        attributes["kind"] = {"string": random.choice("xy")}
    if random.random() < 0.05:
        attributes.pop("group")
    device: Object = {"name": f"dev-{number}", "attributes": attributes}
    if draws and random.random() < 0.7:
        counters = {name: {"value": str(random.randrange(1, 4))} for name in random.sample("ab", random.randint(1, 2))}
        device["consumesCounters"] = [{"counterSet": random.choice(["s0", "s1"]), "counters": counters}]
    if random.random() < 0.2:
        device["allowMultipleAllocations"] = True
        device["capacity"] = {"bw": {"value": "4", "requestPolicy": {"default": "2"}}}
    if random.random() < 0.1:
        device["taints"] = [_taint(random)]
    return device


def _named(*names: str) -> Object:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [names[0]]}]}
    return {"nodeSelectorTerms": [term]}


def _pools(random: Random) -> list[Object]:
    """A pool of the first node with counters, perhaps broken, and perhaps one on the network."""
    devices = [_device(random, number, draws=True) for number in range(random.randint(2, 6))]
    sets = [{"name": name, "counters": {counter: {"value": "4"} for counter in "ab"}} for name in ("s0", "s1")]
    count = random.choice([2, 2, 2, 2, 2, 3])
    local = {"nodeName": "node-1"}
    if random.random() < 0.04:
        devices.append(dict(devices[0]))
    slices = [
        {"metadata": {"name": "counters"}, "spec": _spec("local", 2, count, sharedCounters=sets, **local)},
        {"metadata": {"name": "devices"}, "spec": _spec("local", 2, count, devices=devices, **local)},
    ]
    if random.random() < 0.1:
        old = _spec("local", 1, 2, devices=[{"name": "dev-0"}], **local)
        slices.append({"metadata": {"name": "old"}, "spec": old})
    if random.random() < 0.4:
        slices.append({"metadata": {"name": "network"}, "spec": _network(random)})
    return slices


def _network(random: Random) -> Object:
    devices = [_device(random, 10 + number, draws=False) for number in range(random.randint(1, 3))]
    match random.choice(["all", "selector", "each"]):
        case "all":
            return _spec("net", 1, random.choice([1, 1, 2]), devices=devices, allNodes=True)
        case "selector":
            selector = _named(random.choice(_NODES))
            return _spec("net", 1, random.choice([1, 1, 2]), devices=devices, nodeSelector=selector)
    for device in devices:
        device["nodeSelector"] = _named(random.choice(_NODES))
    return _spec("net", 1, 1, devices=devices, perDeviceNodeSelection=True)


def _ask(random: Random) -> Object:
    asks: Object = {"deviceClassName": random.choice(["any", "any", "of-x"]), "allocationMode": "ExactCount"}
    asks["count"] = random.choice([1, 1, 2, 3])
    if random.random() < 0.1:
        asks = {"deviceClassName": "any", "allocationMode": "All"}
    if random.random() < 0.6:
        chosen = random.sample(list(SELECTORS), random.choice([1, 1, 2]))
        asks["selectors"] = [{"cel": {"expression": expression}} for expression in chosen]
    if random.random() < 0.2:
        asks["tolerations"] = [{"key": random.choice(["k", "l"]), "operator": "Exists"}]
    if random.random() < 0.15:
        asks["capacity"] = {"requests": {"bw": random.choice(["1", "3", "9"])}}
    return asks


def _request(random: Random, name: str) -> Object:
    if random.random() < 0.2:
        return {"name": name, "firstAvailable": [{"name": f"sub-{n}", **_ask(random)} for n in range(2)]}
    asks = _ask(random)
    if random.random() < 0.05:
        asks["adminAccess"] = True
    return {"name": name, "exactly": asks}


def _claims(random: Random) -> list[Object]:
    claims = []
    for number in range(random.choice([1, 1, 2])):
        requests = [_request(random, f"req-{position}") for position in range(random.randint(1, 3))]
        kinds = random.choice([[], [], ["matchAttribute"], ["distinctAttribute"], ["matchAttribute"] * 2])
        some = {"requests": [requests[-1]["name"]]} if random.random() < 0.3 else {}
        constraints = [{kind: f"{DRIVER}/{random.choice(['group', 'kind'])}", **some} for kind in kinds]
        devices = {"requests": requests, "constraints": constraints}
        claims.append({"metadata": {"name": f"claim-{number}", "namespace": "default"}, "spec": {"devices": devices}})
    return claims


def _held(random: Random, slices: list[Object]) -> list[Object]:
    held = []
    devices = [(one["spec"]["pool"]["name"], device) for one in slices for device in one["spec"].get("devices", ())]
    for number, (pool, device) in enumerate(random.sample(devices, min(len(devices), random.randrange(4)))):
        result: Object = {"request": "r", "driver": DRIVER, "pool": pool, "device": device["name"]}
        if device.get("allowMultipleAllocations"):
            result |= {"shareID": f"share-{number}", "consumedCapacity": {"bw": str(random.randint(1, 4))}}
        allocation = {"devices": {"results": [result]}}
        metadata = {"name": f"held-{number}", "namespace": "other"}
        held.append({"metadata": metadata, "status": {"allocation": allocation}})
    return held


def _cluster(random: Random) -> Objects:
    slices = _pools(random)
    classes: list[Object] = [
        {"metadata": {"name": "any"}, "spec": {}},
        {"metadata": {"name": "of-x"}, "spec": {"selectors": [{"cel": {"expression": list(SELECTORS)[2]}}]}},
    ]
    rules = []
    if random.random() < 0.1:
        selector = random.choice([{"driver": DRIVER}, {"driver": DRIVER, "device": "dev-1"}])
        rules.append({"metadata": {"name": "rule"}, "spec": {"deviceSelector": selector, "taint": _taint(random)}})
    nodes = [{"metadata": {"name": name}} for name in _NODES]
    features = random.choices(_FEATURES, [6, 3, 1])[0]
    held, claims = _held(random, slices), _claims(random)
    return Objects(nodes, slices, classes, rules, held, claims, features, _patches(random))


def _patches(random: Random) -> list[Object]:
    """None, or a few that meet each other; two may have the same priority, then the name decides."""
    return [_patch(random, name) for name in "abc"[: random.choice([0, 0, 1, 2, 3])]]


def _patch(random: Random, name: str) -> Object:
    wanted: Object = random.choice(
        [
            {},
            {"device": f"dev-{random.randrange(3)}"},
            {"driver": DRIVER, "pool": "local"},
            {"deviceClassName": random.choice(["of-x", "unknown"])},
            {"selectors": [{"cel": {"expression": random.choice(list(SELECTORS))}}]},
        ]
    )
    devices: Object = {"filter": wanted, "priority": random.randrange(2)}
    if random.random() < 0.7:
        values: list[Object] = [{"null": {}}, {"string": "x"}, {"string": "y"}]
        devices["attributes"] = {f"{DRIVER}/kind": random.choice(values)}
    if random.random() < 0.4:
        numbers: list[Object] = [{"null": {}}, {"int": random.randrange(3)}]
        devices["attributes"] = {**devices.get("attributes", {}), f"{DRIVER}/group": random.choice(numbers)}
    if random.random() < 0.3:
        bandwidth = {"value": str(random.randrange(7)), "requestPolicy": {"default": "2"}}
        devices["capacity"] = {f"{DRIVER}/bw": bandwidth}
    if random.random() < 0.1:
        devices["taints"] = [_taint(random)]
    return {"metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"devices": devices}}


def _judge(objects: Objects) -> set[str]:
    """Everything is true; the kinds of statements that were made."""
    inventory = Inventory.of(
        objects.features,
        slices=objects.slices,
        classes=objects.classes,
        taint_rules=objects.rules,
        claims=objects.held,
        patches=objects.patches,
    )
    explanation = explain(objects.claims, objects.nodes, inventory, seconds=60.0)
    said = explanation_json(explanation)
    assert explanation_text(explanation).strip()
    if said["fits"]:
        assert objects.fits(said["node"])
        return {"fits"}
    assert said.get("errors") or len(said["nodes"]) == len(objects.nodes)
    for node in said.get("nodes", ()):
        assert not node.get("unfinished")
        Judge(objects, node).judge()
    return set(_kinds(said))


def _kinds(said: Any) -> list[str]:
    if isinstance(said, dict):
        own = [said["kind"]] if "kind" in said else []
        own += [f"conflict of {len(said['requests']) > 1}"] if "requests" in said and "claim" not in said else []
        own += [key for key in ("constraints", "counters") if said.get(key)]
        return own + [kind for value in said.values() for kind in _kinds(value)]
    return [kind for value in said for kind in _kinds(value)] if isinstance(said, list) else []


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.builds(Random, st.integers(0, 2**32)).map(_cluster))
def test_every_reason_is_true(objects: Objects) -> None:
    _judge(objects)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.builds(Random, st.integers(0, 2**32)).map(_cluster))
def test_every_reason_is_true_without_the_defects_of_kubernetes(objects: Objects) -> None:
    _judge(replace(objects, features=objects.features.compatible("safe")))


_EVERY_KIND = {
    *("fits", "selector", "selectorError", "inUse", "counters", "overdrawn", "capacity", "capacityMissing"),
    *("taint", "nodeSelection", "attributeMissing", "incompletePool", "invalidPool"),
    *("release", "removeTaint", "changePatches", "completePool", "constraints", "conflict of True"),
}


@pytest.mark.parametrize("start", range(0, 600, 150))
def test_the_random_clusters_have_reasons_of_every_kind(start: int) -> None:
    """Seeds: the same each time, so that a kind that is never seen is noticed."""
    kinds = set().union(*(_judge(_cluster(Random(seed))) for seed in range(start, start + 150)))
    assert kinds >= _EVERY_KIND
