"""Services are given what they are given by a kube-apiserver 1.37.1, and refused in its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import Invalid
from drakit_client.resources import ENDPOINT_SLICES as SLICES
from drakit_client.resources import ENDPOINTS, SERVICES, Resource
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.storage.store import Store
from tests.vectors import services

ADDRESSES = Resource("networking.k8s.io", "v1", "ipaddresses", "IPAddress", namespaced=False)
RANGES = Resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", namespaced=False)
NS = "default"
TOKEN = "of-the-tests"
MATTERS = sorted({story["name"].partition(":")[0] for story in services.recorded()})


@pytest.mark.slow
@pytest.mark.parametrize("matter", MATTERS)
async def test_recorded_stories(matter: str) -> None:
    stories = [story for story in services.recorded() if story["name"].partition(":")[0] == matter]
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        told = await services.Stage(session, TOKEN).all_told(stories)
    different = {}
    for story, ours in zip(stories, told, strict=True):
        steps = zip(story["steps"], ours["steps"], strict=True)
        parts = [(one, other["answer"]) for one, other in steps if one != other]
        if parts:
            different[story["name"]] = parts
    assert different == {}


def service(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


async def addresses(connection: Connection) -> set[str]:
    return {each["metadata"]["name"] for each in (await connection.list(ADDRESSES))["items"]}


@pytest.mark.slow
async def test_no_address_and_no_node_port_is_given_twice_also_after_a_restart(tmp_path: Path) -> None:
    given: list[Object] = []
    for start in range(3):
        config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.sqlite")
        async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
            names = [f"s{start}-{number}" for number in range(20)]
            given += [await connection.create(SERVICES, service(name, type="NodePort"), NS) for name in names]
            taken = {"clusterIP": given[0]["spec"]["clusterIP"]}
            with pytest.raises(Invalid, match="provided IP is already allocated"):
                await connection.create(SERVICES, service("other", **taken), NS)
            ports = [{"port": 80, "nodePort": given[0]["spec"]["ports"][0]["nodePort"]}]
            with pytest.raises(Invalid, match="provided port is already allocated"):
                await connection.create(SERVICES, service("other", type="NodePort", ports=ports), NS)
            mine = {each["spec"]["clusterIP"] for each in given}
            assert await addresses(connection) == mine | {"10.96.0.1"}
    assert len(mine) == len({each["spec"]["ports"][0]["nodePort"] for each in given}) == 60


async def test_a_crash_between_a_service_and_its_address_is_mended_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    async with Server(ServerConfig(token=TOKEN, data_file=path)) as server, Connection(server.url, token=TOKEN) as it:
        for name, address in (("kept", "10.96.0.7"), ("lost", "10.96.0.8")):
            await it.create(SERVICES, service(name, clusterIP=address), NS)
    store = Store(path)
    store.load()
    for kind, key in (("ipaddresses.networking.k8s.io", ("", "10.96.0.7")), ("services", (NS, "lost"))):
        store.delete(store.named(kind), key, {"metadata": {"name": key[1]}})
    store.close()
    async with Server(ServerConfig(token=TOKEN, data_file=path)) as server, Connection(server.url, token=TOKEN) as it:
        assert await addresses(it) == {"10.96.0.1", "10.96.0.7"}
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await it.create(SERVICES, service("other", clusterIP="10.96.0.7"), NS)
        await it.create(SERVICES, service("other", clusterIP="10.96.0.8"), NS)


async def test_the_service_of_the_api_server_leads_to_it_also_on_another_port(tmp_path: Path) -> None:
    """The objects are those that the reconcilers of kube-apiserver write."""
    for _ in range(2):
        config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.sqlite")
        async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
            port = int(server.url.rpartition(":")[2])
            endpoints = await connection.get(ENDPOINTS, "kubernetes", NS)
            part = await connection.get(SLICES, "kubernetes", NS)
            ranges = await connection.get(RANGES, "kubernetes")
        listed = [{"name": "https", "port": port, "protocol": "TCP"}]
        assert endpoints["subsets"] == [{"addresses": [{"ip": "127.0.0.1"}], "ports": listed}]
        assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
        assert (part["addressType"], part["ports"]) == ("IPv4", listed)
        assert part["endpoints"] == [{"addresses": ["127.0.0.1"], "conditions": {"ready": True}}]
        assert part["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
        assert ranges["spec"] == {"cidrs": ["10.96.0.0/16"]}
        (condition,) = ranges["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Ready", "True")


async def test_a_server_starts_though_somebody_has_taken_its_address(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.sqlite")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        await connection.delete(SERVICES, "kubernetes", NS)
        await connection.create(SERVICES, service("thief", clusterIP="10.96.0.1"), NS)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        await connection.delete(SERVICES, "thief", NS)
    assert 'the service default/kubernetes cannot be made: Service "kubernetes" is invalid' in caplog.text
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        assert (await connection.get(SERVICES, "kubernetes", NS))["spec"]["clusterIP"] == "10.96.0.1"


@pytest.mark.slow
async def test_when_all_node_ports_are_given_it_is_said(connection: Connection) -> None:
    most = 2768
    for start in range(0, most, 500):
        ports = [{"name": f"p{port}", "port": 1 + port} for port in range(start, min(start + 500, most))]
        await connection.create(SERVICES, service(f"s{start}", type="NodePort", ports=ports), NS)
    with pytest.raises(Exception, match="failed to allocate a nodePort: range is full"):
        await connection.create(SERVICES, service("one-too-many", type="NodePort"), NS)
    await connection.delete(SERVICES, "s0", NS)
    await connection.create(SERVICES, service("one-more", type="NodePort"), NS)
