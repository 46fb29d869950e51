"""What holds for every DRA driver, ours or somebody else's: its pools are sound and its devices can be used.

``drakit conformance --driver NAME`` runs these stories against a driver that a cluster already has. They ask for any
device of it and look at nothing but the API, so they need to know no more than its name.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from kubernetes.utils.quantity import parse_quantity

from drakit_api.core.conditions import is_unschedulable
from drakit_client.resources import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.clusters.api import Api, WaitTimeout
from e2e.ledger import AllFree, results
from e2e.subject import Subject, by_pool, device_names, is_complete, newest

pytestmark = [
    pytest.mark.any_driver,
    pytest.mark.capability("driver: pools, prepare, give back", source="KEP-4381"),
]

# A driver writes the slices of one update one after the other. The cluster's patience multiplies both times.
_UPDATE_SECONDS = 5.0
# Kubernetes' own library for drivers looks half a minute later (DefaultSyncDelay of its resourceslice package).
_PUBLISH_SECONDS = 45.0
AT_MOST = 12  # claims that the filling story makes: enough to meet a shared counter, few enough for a laptop


def test_every_pool_is_complete_and_of_one_generation(subject: Subject, api: Api) -> None:
    assert subject.slices(), f"driver {subject.name} publishes no ResourceSlice"
    for name, slices in by_pool(_settled(subject, api)).items():
        described = {
            (item["spec"]["pool"]["generation"], item["spec"]["pool"]["resourceSliceCount"]) for item in slices
        }
        assert len(described) == 1, f"pool {name}: generations and slice counts {sorted(described)}"
        ((_, count),) = described
        assert len(slices) == count, f"pool {name} has {len(slices)} of {count} slices"


def _settled(subject: Subject, api: Api) -> list[dict[str, Any]]:
    """Its slices when no update is under way; or if that does not end, as they are."""

    def settled(slices: list[dict[str, Any]]) -> bool:
        return all(is_complete(pool) and newest(pool) == pool for pool in by_pool(slices).values())

    try:
        return api.wait_all(RESOURCE_SLICES, settled, field_selector=subject.own, timeout=_UPDATE_SECONDS)
    except WaitTimeout:
        return subject.slices()


def test_device_names_are_unique_in_their_pool(subject: Subject) -> None:
    for name, slices in subject.pools().items():
        devices = Counter(device_names(slices))
        assert [device for device, times in devices.items() if times > 1] == [], f"pool {name}"


def test_slices_of_nodes_name_nodes_that_exist(subject: Subject, api: Api) -> None:
    nodes = {item["metadata"]["name"] for item in api.objects(NODES)}
    named = {item["spec"]["nodeName"] for item in subject.slices() if item["spec"].get("nodeName")}
    named |= {device["nodeName"] for device in subject.devices().values() if device.get("nodeName")}
    assert named <= nodes


def test_every_device_could_have_the_counters_that_it_consumes(subject: Subject) -> None:
    """Kubernetes checks the references of a slice; that one device does not need more than there is, nobody does."""
    for name, slices in subject.pools().items():
        available = _counters(slices)
        for item in slices:
            for device in item["spec"].get("devices") or []:
                for consumption in device.get("consumesCounters") or []:
                    for counter, value in consumption["counters"].items():
                        where = (consumption["counterSet"], counter)
                        assert where in available, f"pool {name}, device {device['name']}: no counter {where}"
                        assert parse_quantity(value["value"]) <= available[where], f"{name}/{device['name']}: {where}"


def _counters(slices: list[dict[str, Any]]) -> dict[tuple[str, str], Decimal]:
    return {
        (counter_set["name"], counter): parse_quantity(value["value"])
        for item in slices
        for counter_set in item["spec"].get("sharedCounters") or []
        for counter, value in counter_set["counters"].items()
    }


def test_a_pod_runs_with_a_device_and_gives_it_back(subject: Subject, api: Api, all_free: AllFree) -> None:
    api.create(subject.claim("one"), subject.pod("user", "one"))
    (running,) = api.wait_running("user")
    (result,) = results(api.get(RESOURCE_CLAIMS, "one"))
    assert result["driver"] == subject.name
    assert (result["pool"], result["device"]) in subject.devices()
    consumers = api.get(RESOURCE_CLAIMS, "one")["status"]["reservedFor"]
    assert [consumer["uid"] for consumer in consumers] == [running["metadata"]["uid"]]
    api.delete(PODS, "user")
    api.wait_gone(PODS, ["user"])
    all_free("one")


def test_a_finished_pod_gives_its_device_back(subject: Subject, api: Api, all_free: AllFree) -> None:
    job = subject.pod("job", "one", restartPolicy="Never")
    job["spec"]["containers"][0]["command"] = ["true"]
    api.create(subject.claim("one"), job)
    api.wait(PODS, "job", lambda seen: seen["status"].get("phase") == "Succeeded", what="Succeeded")
    all_free("one")


def test_two_pods_share_one_claim_and_one_of_them_goes(subject: Subject, api: Api, all_free: AllFree) -> None:
    api.create(subject.claim("shared"), subject.pod("first", "shared"), subject.pod("second", "shared"))
    api.wait_running("first", "second")
    before = results(api.get(RESOURCE_CLAIMS, "shared"))
    api.delete(PODS, "first")
    api.wait_gone(PODS, ["first"])
    api.wait(RESOURCE_CLAIMS, "shared", lambda seen: len(seen["status"]["reservedFor"]) == 1)
    assert results(api.get(RESOURCE_CLAIMS, "shared")) == before
    assert api.get(PODS, "second")["status"]["phase"] == "Running"
    api.delete(PODS, "second")
    api.wait_gone(PODS, ["second"])
    all_free("shared")


def test_a_device_can_be_used_again_and_again(subject: Subject, api: Api, all_free: AllFree) -> None:
    api.create(subject.claim("again"))
    for turn in range(3):
        name = f"user-{turn}"
        api.create(subject.pod(name, "again"))
        api.wait_running(name)
        api.delete(PODS, name)
        api.wait_gone(PODS, [name])
        all_free("again")


def test_no_device_is_given_out_twice_however_many_pods_ask(subject: Subject, api: Api) -> None:
    api.create(subject.template("each"))
    names = [f"user-{index}" for index in range(min(AT_MOST, len(subject.devices()) + 1))]
    api.create(*(subject.pod(name, template="each") for name in names))
    pods = api.wait_all(PODS, lambda seen: len(seen) == len(names) and all(map(_decided, seen)), what="decided")
    running = [item["metadata"]["name"] for item in pods if item["status"].get("phase") == "Running"]
    assert running, f"none of {len(names)} pods got a device of driver {subject.name}; their events say why"
    devices = subject.devices()
    held = subject.held()
    shared = {device for device, fields in devices.items() if fields.get("allowMultipleAllocations")}
    exclusive = {device: who for device, who in held.items() if device not in shared}
    assert {device: who for device, who in exclusive.items() if len(who) > 1} == {}
    _check_counters(subject, set(held))


def _decided(item: dict[str, Any]) -> bool:
    return bool(item["status"].get("phase") == "Running" or is_unschedulable(item))


def _check_counters(subject: Subject, held: set[tuple[str, str]]) -> None:
    for name, slices in subject.pools().items():
        left = _counters(slices)
        for item in slices:
            for device in item["spec"].get("devices") or []:
                if (name, device["name"]) in held:
                    for consumption in device.get("consumesCounters") or []:
                        for counter, value in consumption["counters"].items():
                            left[consumption["counterSet"], counter] -= parse_quantity(value["value"])
        assert {counter: amount for counter, amount in left.items() if amount < 0} == {}, f"pool {name}"


def test_a_deleted_slice_is_published_again_while_pods_run(subject: Subject, api: Api) -> None:
    """Slices are the driver's to keep, whoever deletes them; pods do not notice."""
    api.create(subject.claim("one"), subject.pod("user", "one"))
    api.wait_running("user")
    item = subject.slices()[0]
    pool, uid = item["spec"]["pool"]["name"], item["metadata"]["uid"]
    devices = sorted(device_names(subject.pools()[pool]))

    def again(seen: list[dict[str, Any]]) -> bool:
        now = by_pool(seen).get(pool, [])
        there = bool(now) and uid not in {other["metadata"]["uid"] for other in now} and is_complete(now)
        return there and sorted(device_names(newest(now))) == devices

    api.delete(RESOURCE_SLICES, item["metadata"]["name"])
    what = f"pool {pool} with all its {len(devices)} devices again"
    api.wait_all(RESOURCE_SLICES, again, field_selector=subject.own, timeout=_PUBLISH_SECONDS, what=what)
    seen = api.get(PODS, "user")["status"]
    assert seen["phase"] == "Running"
    assert sum(status["restartCount"] for status in seen["containerStatuses"]) == 0
