"""Quotas of devices: what is charged, when, and to whom it is given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver.wire.access_columns import PRINTERS

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
GOLD, SILVER = (f"{name}.deviceclass.resource.k8s.io/devices" for name in ("gold", "silver"))
pytestmark = [pytest.mark.usefixtures("controllers"), pytest.mark.slow]


def exactly(device_class: str, **fields: Any) -> Object:
    return {"exactly": {"deviceClassName": device_class, **fields}}


def first(*alternatives: tuple[str, int]) -> Object:
    """A prioritized list: classes, and how many of each."""
    return {
        "firstAvailable": [
            {"name": f"a{index}", "deviceClassName": name, "count": count}
            for index, (name, count) in enumerate(alternatives)
        ]
    }


def claim(name: str, *requests: Object) -> Object:
    listed = [{"name": f"r{index}", **request} for index, request in enumerate(requests)]
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": listed}}}


async def limit(connection: Connection, until: Any, **hard: Any) -> None:
    """A quota ``q`` that is in force."""
    names = {"gold": GOLD, "silver": SILVER, "claims": "count/resourceclaims.resource.k8s.io"}
    spec = {"hard": {names.get(name, name): str(amount) for name, amount in hard.items()}}
    await connection.json("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": spec})

    async def known() -> bool:
        return bool(((await connection.json("GET", f"{QUOTAS}/q")).get("status") or {}).get("used"))

    await until(known)


async def used(connection: Connection) -> dict[str, str]:
    found: dict[str, str] = (await connection.json("GET", f"{QUOTAS}/q"))["status"]["used"]
    return found


async def make(connection: Connection, body: Object, **params: str) -> None:
    path = resources.RESOURCE_CLAIMS.path("default")
    await connection.json("POST", path, body, params=params)


CHARGED: dict[str, tuple[Object, dict[str, int]]] = {
    "a request": (exactly("gold", count=3), {GOLD: 3}),
    "all devices there are": (exactly("gold", allocationMode="All"), {GOLD: 32}),
    "every alternative of a list": (first(("gold", 1), ("silver", 4)), {GOLD: 1, SILVER: 4}),
    "the largest alternative of a class": (first(("gold", 1), ("gold", 4), ("silver", 2)), {GOLD: 4, SILVER: 2}),
    "another class": (exactly("bronze"), {}),
}


@pytest.mark.parametrize("what", CHARGED)
async def test_what_a_claim_is_charged_for(connection: Connection, until: Any, what: str) -> None:
    request, charged = CHARGED[what]
    await limit(connection, until, gold=100, silver=100)
    await make(connection, claim("c", request))
    assert await used(connection) == {name: str(charged.get(name, 0)) for name in (GOLD, SILVER)}
    await make(connection, claim("d", request, request))
    assert await used(connection) == {name: str(3 * charged.get(name, 0)) for name in (GOLD, SILVER)}


async def test_every_alternative_must_be_covered(connection: Connection, until: Any) -> None:
    """KEP-4816: whichever alternative is chosen later, there is quota for it."""
    await limit(connection, until, gold=1, silver=3)
    with pytest.raises(ApiError) as refused:
        await make(connection, claim("c", first(("gold", 1), ("silver", 4))))
    assert refused.value.message == (
        f'resourceclaims.resource.k8s.io "c" is forbidden: exceeded quota: q, requested: {SILVER}=4, used: {SILVER}=0, '
        f"limited: {SILVER}=3"
    )
    await make(connection, claim("c", first(("gold", 1), ("silver", 3))))


async def test_what_is_not_stored_is_not_charged(connection: Connection, until: Any) -> None:
    await limit(connection, until, gold=9)
    await make(connection, claim("c", exactly("gold", count=2)), dryRun="All")
    assert await used(connection) == {GOLD: "0"}
    await make(connection, claim("c", exactly("gold", count=2)))
    for body in (claim("c", exactly("gold", count=2)), claim("Not A Name", exactly("gold"))):
        with pytest.raises(ApiError, match=r"already exists|is invalid"):
            await make(connection, body)
    assert await used(connection) == {GOLD: "2"}


async def test_many_at_once_share_what_there_is(connection: Connection, until: Any) -> None:
    await limit(connection, until, gold=5, claims=50)
    outcomes = await asyncio.gather(
        *(make(connection, claim(f"c{index}", exactly("gold"))) for index in range(20)), return_exceptions=True
    )
    assert sum(outcome is None for outcome in outcomes) == 5
    assert await used(connection) == {GOLD: "5", "count/resourceclaims.resource.k8s.io": "5"}


async def test_what_goes_is_given_back(connection: Connection, until: Any) -> None:
    async def is_furnished() -> bool:
        return bool((await connection.list(resources.CONFIG_MAPS, "default"))["items"])

    await until(is_furnished)
    await limit(connection, until, gold=2, pods=1, configmaps=2)
    await make(connection, claim("c", exactly("gold", count=2)))
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await connection.create(resources.PODS, pod, "default")
    await connection.create(resources.CONFIG_MAPS, {"metadata": {"name": "m"}}, "default")
    assert await used(connection) == {GOLD: "2", "pods": "1", "configmaps": "2"}  # kube-root-ca.crt is one
    await connection.patch(resources.PODS, "p", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    await connection.delete(resources.RESOURCE_CLAIMS, "c", "default")
    await connection.delete(resources.CONFIG_MAPS, "m", "default")

    async def given_back() -> bool:
        return await used(connection) == {GOLD: "0", "pods": "0", "configmaps": "1"}

    await until(given_back)


async def test_an_extended_resource_is_charged_once(connection: Connection, until: Any) -> None:
    """To the pod that asks for it, and not again to the claim that is made for the pod."""
    device_class = {"metadata": {"name": "gold"}, "spec": {"extendedResourceName": "example.com/gpu"}}
    await connection.create(resources.DEVICE_CLASSES, device_class)
    names = ("requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gold")
    await limit(connection, until, gold=9, **dict.fromkeys(names, 9))
    container = {"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "2"}}}
    pod = await connection.create(
        resources.PODS, {"metadata": {"name": "p"}, "spec": {"containers": [container]}}, "default"
    )
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"], "controller": True}
    body = claim("c", exactly("gold", count=2))
    body["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    await make(connection, body)
    assert await used(connection) == {GOLD: "2", names[0]: "2", names[1]: "2"}


async def test_kubectl_shows_what_is_used(connection: Connection, until: Any) -> None:
    await limit(connection, until, gold=9, pods=3, **{"limits.cpu": 2})
    names, cells = PRINTERS["", "resourcequotas"]
    quota = await connection.json("GET", f"{QUOTAS}/q")
    assert [*names] == ["Name", "Request", "Limit", "Age"]
    assert cells(quota)[:3] == ["q", f"{GOLD}: 0/9, pods: 0/3", "limits.cpu: 0/2"]
