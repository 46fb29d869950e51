"""A cluster of one simulated node, whose containers can be reached through its API server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import PODS
from drakit_embedded.apiserver import KubeletAccess, Server, ServerConfig
from drakit_embedded.kubelet import KubeletSimulator, NodeSpec
from tests.embedded import kubeconfigs

Until = Callable[..., Awaitable[Any]]
TOKEN, KUBELET_TOKEN = "of-the-tests", "of-the-kubelets"
NODE = "n1"


class Cluster:
    """An API server over TLS with a simulated kubelet."""

    def __init__(self, kubeconfig: Path, connection: Connection, root: Path, until: Until) -> None:
        self.kubeconfig, self.connection, self.root, self.until = kubeconfig, connection, root, until

    async def run(self, name: str = "p", *, labels: dict[str, str] | None = None, **spec: Any) -> None:
        """Run a pod on the node; it runs or has run when this returns. Fields of its container ``c`` can be given."""
        container = {"name": "c", "image": "i", **spec.pop("container", {})}
        body = {"metadata": {"name": name, "labels": labels or {}}, "spec": {"containers": [container], **spec}}
        body["spec"].setdefault("nodeName", NODE)
        await self.connection.create(PODS, body, "default")

        async def running() -> bool:
            status: Object = (await self.connection.get(PODS, name, "default"))["status"]
            return status.get("phase") in ("Running", "Succeeded")

        await self.until(running)

    async def kubectl(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str]
    ) -> tuple[int, str, str]:
        """Run kubectl: its exit status, output and errors."""
        process = await self.start_kubectl(*arguments, environment=environment)
        async with asyncio.timeout(60):
            output, errors = await process.communicate(stdin)
        assert process.returncode is not None
        return process.returncode, output.decode(), errors.decode()

    async def start_kubectl(self, *arguments: str, environment: Mapping[str, str]) -> asyncio.subprocess.Process:
        """Start kubectl, with pipes to it and from it."""
        return await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.root), **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


@pytest.fixture
async def cluster(short_path: Path, until: Until) -> AsyncIterator[Cluster]:
    access = KubeletAccess(authority=short_path / ".kubelet.crt", token=KUBELET_TOKEN)
    async with Server(ServerConfig(token=TOKEN, tls=True, kubelets=access)) as server:
        kubeconfig = kubeconfigs.write(server, TOKEN, short_path)
        own = await Connection.from_kubeconfig(kubeconfig)
        simulator = KubeletSimulator(own, [NodeSpec(NODE)], short_path, token=KUBELET_TOKEN)
        async with await Connection.from_kubeconfig(kubeconfig) as connection:
            await simulator.start()
            yield Cluster(kubeconfig, connection, short_path, until)
            await simulator.stop()
