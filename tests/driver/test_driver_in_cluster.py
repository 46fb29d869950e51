"""The driver beside drakit's own API server and simulated kubelets: what only shows when the parts meet."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import EVENTS, NODES, RESOURCE_SLICES
from drakit_driver.driver import Driver, NodeDirectories
from drakit_driver.profiles.reading import catalog
from drakit_driver.publishing.publisher import Publisher
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.kubelet.nodes import NodeSpec
from drakit_embedded.kubelet.simulator import KubeletSimulator
from drakit_kind.processes.ports import free_port

NODE = "node-1"
OFF = FeatureGates(overrides={"DRAPartitionableDevices": False})


async def slices(connection: Connection) -> list[Object]:
    return list((await connection.list(RESOURCE_SLICES))["items"])


@pytest.mark.slow
async def test_fields_dropped_by_a_gate_come_back_with_it(tmp_path: Path) -> None:
    """Gate off: reported once. Server restarted with the gate on: published again, without anybody's help."""
    config: dict[str, Any] = {"port": free_port(), "token": "t", "data_file": tmp_path / "state.db"}
    lines: list[str] = []
    server = Server(ServerConfig(gates=OFF, **config))
    await server.start()
    async with Connection(server.url, token="t") as connection:
        await connection.create(NODES, {"metadata": {"name": NODE}})
        pools = catalog.build("a100-40gb", nodes=[NODE])
        publisher = Publisher(
            connection,
            "gpu.nvidia.com",
            pools,
            node_name=NODE,
            gates=FeatureGates(),
            report=lines.append,
            probe_seconds=0.1,
        )
        task = asyncio.create_task(publisher.run())
        await publisher.published(10)
        assert "disabled features there: DRAPartitionableDevices" in lines[-1]
        assert publisher.dropped() == {NODE: ["spec.devices[].consumesCounters (26)", "spec.sharedCounters"]}
        await publisher._events.flush()
        (event,) = (await connection.list(EVENTS, "default"))["items"]
        assert event["reason"] == "DroppedFields"
        generation = (await slices(connection))[0]["spec"]["pool"]["generation"]
        await server.stop()
        server = Server(ServerConfig(**config))
        await server.start()
        async with asyncio.timeout(15):
            while publisher.dropped():
                await publisher.published(15)
                await asyncio.sleep(0.02)
        stored = await slices(connection)
        assert {item["spec"]["pool"]["generation"] for item in stored} == {generation + 1}
        assert any(item["spec"].get("sharedCounters") for item in stored)
        assert all(each["consumesCounters"] for item in stored for each in item["spec"].get("devices", []))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await server.stop()


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_server_without_v1(version: str) -> None:
    served = {"resource.k8s.io/v1": "false", f"resource.k8s.io/{version}": "true"}
    config = ServerConfig(token="t", runtime_config=served)
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        await connection.create(NODES, {"metadata": {"name": NODE}})
        pools = catalog.build("a30", nodes=[NODE])
        publisher = Publisher(connection, "gpu.nvidia.com", pools, node_name=NODE, gates=FeatureGates())
        task = asyncio.create_task(publisher.run())
        await publisher.published(10)
        listed = await connection.list(RESOURCE_SLICES.in_version(version))
        assert len(listed["items"]) == 2
        assert publisher.dropped() == {}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.slow
async def test_slices_come_back_after_a_kubelet_restart(short_dir: Path) -> None:
    """The kubelet wipes the node's slices when it starts; its plugin stays registered."""
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        mine = Connection(server.url, token="t")
        simulator = KubeletSimulator(mine, [NodeSpec(NODE)], short_dir / "nodes", token="t")
        await simulator.start()
        directory = short_dir / "nodes" / NODE
        driver = Driver(
            connection,
            "gpu.nvidia.com",
            catalog.build("dgx-a100", nodes=[NODE]),
            gates=FeatureGates(),
            nodes=[NodeDirectories(NODE, directory, directory / "cdi")],
            classes=catalog.device_classes("dgx-a100"),
        )
        await driver.start()
        await driver.ready(15)
        before = {item["metadata"]["uid"] for item in await slices(connection)}
        assert len(before) == 9
        await simulator.restart_node(NODE)
        async with asyncio.timeout(15):
            while True:
                now = await slices(connection)
                if len(now) == 9 and not before & {item["metadata"]["uid"] for item in now}:
                    break
                await asyncio.sleep(0.05)
        await driver.ready(15)
        await driver.stop(cleanup=True)
        assert await slices(connection) == []
        await simulator.stop()
