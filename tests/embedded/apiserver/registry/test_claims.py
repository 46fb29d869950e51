"""resource.k8s.io behind HTTP: the rules of ``drakit_api`` at the place where a user meets them."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Invalid
from drakit_embedded.apiserver import Server, ServerConfig

CLAIMS = resources.RESOURCE_CLAIMS
SLICES = resources.RESOURCE_SLICES


def claim(name: str = "c", **request: Any) -> Object:
    exactly = {"deviceClassName": "gpu.example.com", **request}
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


def resource_slice(**spec: Any) -> Object:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": "s"},
        "spec": {"driver": "gpu.example.com", "nodeName": "n", "pool": pool, "devices": [{"name": "d"}], **spec},
    }


ALLOCATED = {
    "allocation": {"devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "d"}]}},
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
}


async def test_a_claim_gets_its_defaults(connection: Connection) -> None:
    made = await connection.create(CLAIMS, {**claim(), "status": ALLOCATED}, "default")
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    assert made["status"] == {}


async def test_the_spec_of_a_claim_is_immutable(connection: Connection) -> None:
    await connection.create(CLAIMS, claim(), "default")
    with pytest.raises(Invalid, match="field is immutable"):
        await connection.patch(CLAIMS, "c", {"spec": {"devices": {"requests": []}}}, "default")


async def test_a_claim_is_allocated_and_released_through_its_status(connection: Connection) -> None:
    made = await connection.create(CLAIMS, claim(), "default")
    made["metadata"]["labels"] = {"from": "status"}
    allocated = await connection.replace_status(CLAIMS, {**made, "status": ALLOCATED}, "default")
    assert allocated["status"]["reservedFor"] == ALLOCATED["reservedFor"]
    assert "labels" not in allocated["metadata"]
    other = {"devices": {"results": [{"request": "r", "driver": "x.example.com", "pool": "n", "device": "d"}]}}
    with pytest.raises(Invalid, match=r"status\.allocation: Invalid value"):
        await connection.replace_status(CLAIMS, {**allocated, "status": {"allocation": other}}, "default")
    released = await connection.replace_status(CLAIMS, {**allocated, "status": {}}, "default")
    assert released["status"] == {}


async def test_consumers_are_merged_by_uid(connection: Connection) -> None:
    made = await connection.create(CLAIMS, claim(), "default")
    await connection.replace_status(CLAIMS, {**made, "status": ALLOCATED}, "default")
    patch = {"status": {"reservedFor": [{"$patch": "delete", "uid": "u"}]}}
    changed = await connection.patch(CLAIMS, "c", patch, "default", subresource="status", patch_type="strategic-merge")
    assert "reservedFor" not in changed["status"]


async def test_each_driver_applies_the_status_of_its_own_devices(connection: Connection) -> None:
    """What ``testResourceClaimDeviceStatus`` of Kubernetes' test/integration/dra does with server-side apply."""
    made = await connection.create(CLAIMS, claim(), "default")
    results = [{"request": "r", "driver": driver, "pool": "n", "device": "d"} for driver in ("one", "two", "three")]
    first = {"driver": "one", "pool": "n", "device": "d", "conditions": None}
    status = {"allocation": {"devices": {"results": results}}, "devices": [first]}
    await connection.replace_status(CLAIMS, {**made, "status": status}, "default")

    def device(driver: str, name: str) -> Object:
        return {"driver": driver, "pool": "n", "device": "d", "networkData": {"interfaceName": name}}

    async def applied(manager: str, status: Object | None) -> list[Object]:
        body = {"apiVersion": CLAIMS.api_version, "kind": "ResourceClaim", "metadata": {"name": "c"}}
        body |= {"status": status} if status else {}
        answer = await connection.json(
            "PATCH",
            CLAIMS.path("default", "c", "status"),
            body,
            params={"fieldManager": manager, "force": "true"},
            content_type="application/apply-patch+yaml",
        )
        return [{**item} for item in answer["status"]["devices"]]

    two, three = ({**device("two", "net-2"), "conditions": None}, {**device("three", "net-3"), "conditions": None})
    assert await applied("of two", {"devices": [device("two", "net-2")]}) == [first, two]
    assert await applied("of three", {"devices": [device("three", "net-3")]}) == [first, two, three]
    two["networkData"] = {"interfaceName": "another"}
    assert await applied("of two", {"devices": [device("two", "another")]}) == [first, two, three]
    assert await applied("of three", None) == [first, two]


async def test_an_unknown_field_is_refused_dropped_or_warned_about(
    connection: Connection, session: aiohttp.ClientSession
) -> None:
    body = claim(colour="red")
    path = CLAIMS.path("default")
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", path, body, params={"fieldValidation": "Strict"})
    assert refused.value.message == (
        'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding error: unknown field '
        '"spec.devices.requests[0].exactly.colour"'
    )
    async with session.post(path, json=body) as response:
        assert response.status == 201
        assert response.headers["Warning"] == '299 - "unknown field \\"spec.devices.requests[0].exactly.colour\\""'
        assert "colour" not in (await response.json())["spec"]["devices"]["requests"][0]["exactly"]


async def test_the_generation_of_a_slice_counts_changes_of_its_spec(connection: Connection) -> None:
    made = await connection.create(SLICES, resource_slice())
    assert made["metadata"]["generation"] == 1
    made["spec"]["devices"].append({"name": "e"})
    changed = await connection.replace(SLICES, made)
    assert changed["metadata"]["generation"] == 2
    changed["metadata"]["labels"] = {"a": "b"}
    assert (await connection.replace(SLICES, changed))["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("selector", "names"),
    [("spec.driver=gpu.example.com", ["s"]), ("spec.nodeName=m", []), ("spec.nodeName=n,spec.pool.name=n", ["s"])],
)
async def test_slices_are_selected_by_field(connection: Connection, selector: str, names: list[str]) -> None:
    await connection.create(SLICES, resource_slice())
    listed = await connection.list(SLICES, field_selector=selector)
    assert [item["metadata"]["name"] for item in listed["items"]] == names


async def test_an_invalid_slice_names_every_fault(connection: Connection) -> None:
    with pytest.raises(Invalid) as refused:
        await connection.create(SLICES, resource_slice(driver="not a driver", devices=[{"name": "D"}]))
    assert {cause["field"] for cause in refused.value.causes} >= {"spec.driver", "spec.devices[0].name"}
    assert (await connection.list(SLICES))["items"] == []


async def test_fields_of_a_disabled_feature_are_dropped() -> None:
    gates = FeatureGates(overrides={"DRAPartitionableDevices": False})
    async with Server(ServerConfig(token="t", gates=gates)) as server, Connection(server.url, token="t") as connection:
        counters = [{"name": "c", "counters": {"memory": {"value": "1Gi"}}}]
        made = await connection.create(SLICES, resource_slice(sharedCounters=counters))
        assert "sharedCounters" not in made["spec"]


async def test_admin_access_needs_a_labelled_namespace(connection: Connection) -> None:
    with pytest.raises(Invalid, match="admin access"):
        await connection.create(CLAIMS, claim(adminAccess=True), "default")
    label = {"resource.kubernetes.io/admin-access": "true"}
    await connection.create(resources.NAMESPACES, {"metadata": {"name": "admin", "labels": label}})
    assert await connection.create(CLAIMS, claim(adminAccess=True), "admin")


async def test_metadata_are_in_the_order_of_their_type(connection: Connection) -> None:
    wanted = resource_slice()
    wanted["metadata"] = {"labels": {"b": "", "a": ""}, "name": "s"}
    made = await connection.create(SLICES, wanted)
    fields = ["name", "uid", "resourceVersion", "generation", "creationTimestamp", "labels", "managedFields"]
    assert list(made["metadata"]) == fields
    assert list(made["metadata"]["labels"]) == ["a", "b"]


MIXED: Object = {
    "mixins": {"device": [{"name": "big", "capacity": {"memory": {"value": "40Gi"}}}]},
    "devices": [{"name": "d", "includes": ["big"]}],
}


async def test_mixins_are_stored_as_they_are_behind_the_kits_gate() -> None:
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    async with Server(ServerConfig(token="t", gates=gates)) as server, Connection(server.url, token="t") as connection:
        made = await connection.create(SLICES, resource_slice(**MIXED))
        assert made["spec"]["mixins"] == MIXED["mixins"]
        assert made["spec"]["devices"] == MIXED["devices"]
        assert made["metadata"]["generation"] == 1
        unknown = resource_slice(**MIXED) | {"metadata": {"name": "t"}}
        unknown["spec"]["devices"] = [{"name": "d", "includes": ["small"]}]
        with pytest.raises(Invalid, match="small"):
            await connection.create(SLICES, unknown)


async def test_both_spellings_of_mixins_are_stored_as_one() -> None:
    """Schedulers read one: the other one, stored as it came, would have been the end of the scheduler."""
    seed = {
        "mixins": {"device": [{"name": "big", "basic": {"capacity": {"memory": {"value": "40960Mi"}}}}]},
        "devices": [{"name": "d", "basic": {"includes": [{"name": "big"}]}}],
    }
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    async with Server(ServerConfig(token="t", gates=gates)) as server, Connection(server.url, token="t") as connection:
        made = await connection.create(SLICES, resource_slice(**seed))
        assert {key: made["spec"][key] for key in MIXED} == MIXED
        made["spec"] |= seed
        again = await connection.replace(SLICES, made)
        assert {key: again["spec"][key] for key in MIXED} == MIXED
        assert again["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"nodeName": None}, "spec"),
        ({"driver": "not a driver"}, "spec"),
        ({"driver": 1}, "spec"),
        ({"pool": 1}, "spec"),
        ({"mixins": 1}, "spec"),
        ({"sharedCounters": 1}, "spec"),
        ({"devices": [{**MIXED["devices"][0], "taints": 1}]}, "spec"),
        ({"devices": [{**MIXED["devices"][0], "attributes": 1}]}, "spec"),
        ({"devices": [{**MIXED["devices"][0], "capacity": {"a": 1}}]}, "spec"),
        ({"devices": [{**MIXED["devices"][0], "consumesCounters": [1]}]}, "spec"),
        ({"pool": {"name": "p", "generation": 1, "resourceSliceCount": 0}}, "spec.pool.resourceSliceCount"),
        ({"devices": [*MIXED["devices"], *MIXED["devices"]]}, "spec.devices[1]"),
        (
            {"devices": [{**MIXED["devices"][0], "taints": [{"key": "k", "effect": "Foo"}]}]},
            "spec.devices[0].taints[0].effect",
        ),
        (
            {
                "mixins": {"deviceCounterConsumption": [{"name": "one", "counters": {"c": {"value": "1"}}}]},
                "devices": [
                    {"name": f"d{index}", "consumesCounters": [{"counterSet": "s", "includes": ["one"]}]}
                    for index in range(65)
                ],
            },
            "spec.devices",
        ),
    ],
    ids=[
        "nowhere",
        "driver",
        "no text",
        "no pool",
        "no mixins",
        "no counters",
        "no taints",
        "no attributes",
        "no capacity",
        "no consumption",
        "count",
        "twice",
        "taint",
        "65 consumers",
    ],
)
async def test_what_mixins_come_to_is_validated_as_any_slice(changes: Object, field: str) -> None:
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    async with Server(ServerConfig(token="t", gates=gates)) as server, Connection(server.url, token="t") as connection:
        with pytest.raises(Invalid) as refused:
            await connection.create(SLICES, resource_slice(**{**MIXED, **changes}))
        assert field in {cause["field"] for cause in refused.value.causes}
        made = await connection.create(SLICES, resource_slice(**MIXED))
        made["spec"] |= changes
        with pytest.raises(Invalid) as refused:
            await connection.replace(SLICES, made)
        assert field in {cause["field"] for cause in refused.value.causes}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_slice_with_mixins_that_stays_is_no_change(version: str) -> None:
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    config = ServerConfig(token="t", gates=gates, runtime_config={"resource.k8s.io/v1beta1": "true"})
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        wanted = resource_slice(**MIXED)
        wanted["metadata"]["labels"] = {}
        path = f"/apis/resource.k8s.io/{version}/resourceslices/{wanted['metadata']['name']}"
        made = await connection.create(SLICES, wanted)
        again = await connection.json(
            "PATCH", path, {"metadata": {"labels": {}}}, content_type="application/merge-patch+json"
        )
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_mixins_are_unknown_without_the_gate(connection: Connection) -> None:
    with pytest.raises(ApiError, match=r'unknown field \\?"spec\.mixins'):
        await connection.json("POST", SLICES.path(), resource_slice(**MIXED), params={"fieldValidation": "Strict"})
    made = await connection.create(SLICES, resource_slice(**MIXED))
    assert "mixins" not in made["spec"]
