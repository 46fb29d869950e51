"""The components of an embedded cluster: each is started in its slot and can be restarted alone.

They share a process to be quick to start, and nothing else: each has its own connection, and they meet at the HTTP port
and at the kubelets' sockets as the real ones do.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args

from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import NODES
from drakit_kind import kubeconfig
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.drivers import pools_of
from drakit_kind.home import ClusterHome

if TYPE_CHECKING:
    from drakit_embedded.apiserver import Server

log = logging.getLogger("drakit")

# A cluster is in use long before anything has lost its owner, and looking through all kinds would delay its start.
_GARBAGE_SECONDS = 1.0


class _Slot(Protocol):
    """What every component looks like from here."""

    async def start(self) -> object: ...

    async def stop(self) -> None: ...


class _Loop:
    """A component that is one coroutine, run until it is stopped; ``ready`` is set when it has its caches."""

    def __init__(
        self, name: str, connection: Connection, run: Callable[[], Coroutine[None, None, None]], ready: asyncio.Event
    ) -> None:
        self._name = name
        self._connection = connection
        self._run = run
        self._ready = ready
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._guarded(), name=self._name)
        await self._ready.wait()

    async def _guarded(self) -> None:
        try:
            await self._run()
        except Exception:
            # Half a cluster would let tests fail for reasons that nobody finds: better none, and this in the log.
            log.exception("%s failed, so the cluster stops", self._name)
            os.kill(os.getpid(), signal.SIGTERM)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._connection.close()


class _Closing:
    """A connection that outlives the component that uses it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        await self._connection.close()


class Components:
    """All components of one embedded cluster."""

    def __init__(self, spec: ClusterSpec, home: ClusterHome) -> None:
        self._spec = spec
        self._home = home
        self._slots: dict[str, _Slot] = {}
        self._url = ""
        self._certificate: bytes | None = None
        self._kubelet_token = secrets.token_urlsafe(32)
        gates = FeatureGates(spec.emulated_version, spec.gates)
        self._gates: dict[str, FeatureGates] = dict.fromkeys(get_args(Component), gates)
        self._make: dict[str, Callable[[], _Slot]] = {
            "apiserver": self._apiserver,
            "controllers": self._controllers,
            "scheduler": self._scheduler,
            "kubelet": self._kubelet,
        }

    async def start(self) -> None:
        """Start everything; returns when nodes are Ready and drivers are registered."""
        await self._start_apiserver()
        config = kubeconfig.entry(f"drakit-{self._spec.name}", self._url, self._spec.token or "", self._certificate)
        kubeconfig.write(self._home.kubeconfig, config)
        await self._forget_other_nodes()
        parts = ["controllers"]
        parts += ["scheduler"] if self._spec.scheduler else []
        parts += ["kubelet"] if self._spec.nodes else []
        await asyncio.gather(*map(self._start, parts))
        await asyncio.gather(*(self._start_driver(index, driver) for index, driver in enumerate(self._spec.drivers)))

    async def stop(self) -> None:
        """Stop in the opposite order, so that drivers and kubelets can still say goodbye."""
        while self._slots:
            name, slot = self._slots.popitem()
            try:
                await slot.stop()
            except Exception:
                log.exception("%s did not stop cleanly", name)

    async def restart(self, request: dict[str, Any]) -> dict[str, Any]:
        """``{component, gates, emulated_version}``; what is None stays as the cluster was started."""
        component = request["component"]
        if component not in self._slots:
            raise ClusterError(f"this cluster runs no {component}; it runs {', '.join(self._slots)}")
        gates = self._spec.gates if request["gates"] is None else request["gates"]
        # Made first: gates that Kubernetes refuses must not cost a running component.
        self._gates[component] = FeatureGates(request["emulated_version"] or self._spec.emulated_version, gates)
        await self._slots[component].stop()
        await (self._start_apiserver() if component == "apiserver" else self._start(component))
        log.info("%s restarted", component)
        return {}

    async def _start(self, component: str) -> None:
        slot = self._make[component]()
        self._slots[component] = slot  # a restarted one keeps its place in the order of stopping
        await slot.start()
        log.info("%s started", component)

    async def _start_apiserver(self) -> None:
        await self._start("apiserver")
        server = cast("Server", self._slots["apiserver"])
        self._url, self._certificate = server.url, server.ca_certificate

    async def _forget_other_nodes(self) -> None:
        """Nodes that an earlier run had and this one has not: Ready for ever, they would get pods that nobody runs."""
        directories = self._home.nodes.iterdir() if self._home.nodes.exists() else ()
        gone = [each for each in directories if each.is_dir() and each.name not in self._spec.nodes]
        if not gone:
            return
        async with self._connect("nodes") as connection:
            for directory in gone:
                with suppress(NotFound):
                    await connection.delete(NODES, directory.name)
                shutil.rmtree(directory)

    def _connect(self, component: str) -> Connection:
        agent = f"drakit-{component}"
        return Connection("http://localhost", socket=self._home.api, token=self._spec.token, user_agent=agent)

    def _apiserver(self) -> _Slot:
        from drakit_embedded.apiserver import Server, ServerConfig

        config = ServerConfig(
            port=self._spec.port,
            token=self._spec.token,
            data_file=self._home.store,
            gates=self._gates["apiserver"],
            runtime_config=self._spec.runtime_config,
            tls=self._spec.tls,
            socket=self._home.api,
            kubelet_token=self._kubelet_token,
        )
        return Server(config)

    def _controllers(self) -> _Slot:
        from drakit_embedded import controllers

        connection = self._connect("controllers")
        ready = asyncio.Event()
        gates, root_ca = self._gates["controllers"], (self._certificate or b"").decode()
        run = partial(
            controllers.run, connection, gates=gates, root_ca=root_ca, ready=ready, garbage_delay=_GARBAGE_SECONDS
        )
        return _Loop("controllers", connection, run, ready)

    def _scheduler(self) -> _Slot:
        from drakit_allocator.scheduler import Scheduler

        connection = self._connect("scheduler")
        scheduler = Scheduler(connection, gates=self._gates["scheduler"])
        return _Loop("scheduler", connection, scheduler.run, scheduler.synced)

    def _kubelet(self) -> _Slot:
        from drakit_embedded.kubelet import KubeletSimulator, NodeSpec

        nodes = [NodeSpec(name) for name in self._spec.nodes]
        return KubeletSimulator(self._connect("kubelet"), nodes, self._home.nodes, token=self._kubelet_token)

    async def _start_driver(self, index: int, spec: DriverSpec) -> None:
        from drakit_driver import profiles
        from drakit_driver.driver import Driver, NodeDirectories

        pools = pools_of(spec)
        directories = [
            NodeDirectories(node, self._home.nodes / node, self._home.nodes / node / "cdi") for node in spec.nodes
        ]
        name = pools[0].driver
        gates = FeatureGates(self._spec.emulated_version, {**self._spec.gates, **spec.gates})
        classes = profiles.device_classes(spec.profile, name)
        connection = self._connect(f"driver-{name}")
        driver = Driver(connection, name, pools, gates=gates, nodes=directories, classes=classes)
        self._slots[f"connection of driver-{index}"] = _Closing(connection)
        self._slots[f"driver-{index}"] = driver
        await driver.start()
        await driver.ready()
        log.info("driver %s started: %s on %d nodes", name, spec.profile, len(spec.nodes))
