"""The process behind an embedded cluster: it starts each component in its slot and can restart it alone.

Run as ``python -m drakit_kind.host DIRECTORY``. The components share this process to be quick to start, and nothing
else: each has its own connection, and they meet at the HTTP port and at the kubelets' sockets as the real ones do.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, get_args

from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_client.readiness import announce_ready
from drakit_kind import control, kubeconfig
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.drivers import pools_of
from drakit_kind.home import ClusterHome

log = logging.getLogger("drakit")


class _Slot(Protocol):
    """What every component looks like from here."""

    async def start(self) -> Any: ...

    async def stop(self) -> None: ...


class _Loop:
    """A component that is one coroutine, run until it is stopped."""

    def __init__(self, name: str, connection: Connection, run: Callable[[], Awaitable[None]]) -> None:
        self._name = name
        self._connection = connection
        self._run = run
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._guarded(), name=self._name)

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


class Host:
    """All components of one embedded cluster."""

    def __init__(self, spec: ClusterSpec, home: ClusterHome) -> None:
        self._spec = spec
        self._home = home
        self._gates: dict[str, FeatureGates] = {}
        self._slots: dict[str, _Slot] = {}
        self._url = f"{'https' if spec.tls else 'http'}://127.0.0.1:{spec.port}"
        self._kubelet_token = secrets.token_urlsafe(32)
        for component in get_args(Component):
            self._configure(component, spec.gates, spec.emulated_version)

    def _configure(self, component: str, gates: Mapping[str, bool], emulated_version: str) -> None:
        self._gates[component] = FeatureGates(emulated_version, gates)

    def _connect(self, component: str) -> Connection:
        return Connection(self._url, token=self._spec.token, tls=self._tls_context(), user_agent=f"drakit-{component}")

    async def start(self) -> None:
        """Start everything; returns when nodes are Ready and drivers are registered."""
        await self._start("apiserver")
        self._write_kubeconfig()
        parts: list[str] = ["controllers"]
        parts += ["kubelet"] if self._spec.nodes else []
        parts += ["scheduler"] if self._spec.scheduler else []
        await asyncio.gather(*(self._start(part) for part in parts))
        await asyncio.gather(*(self._start_driver(index, driver) for index, driver in enumerate(self._spec.drivers)))

    def _write_kubeconfig(self) -> None:
        assert self._spec.token is not None
        config = kubeconfig.entry(f"drakit-{self._spec.name}", self._url, self._spec.token, self._certificate())
        kubeconfig.write(self._home.kubeconfig, config)

    async def stop(self) -> None:
        """Stop in the opposite order, so that drivers and kubelets can still say goodbye."""
        while self._slots:
            name, slot = self._slots.popitem()
            try:
                await slot.stop()
            except Exception:
                log.exception("%s did not stop cleanly", name)

    async def _start(self, component: str) -> None:
        slot = getattr(self, f"_{component}")()
        self._slots[component] = slot
        await slot.start()
        log.info("%s started", component)

    async def restart(self, request: dict[str, Any]) -> dict[str, Any]:
        """``{component, gates, emulated_version}``: gates and version None keep what the component has."""
        component = request["component"]
        if component not in self._slots:
            raise ClusterError(f"this cluster runs no {component}; it runs {', '.join(self._slots)}")
        gates = request["gates"] if request["gates"] is not None else self._spec.gates
        self._configure(component, gates, request["emulated_version"] or self._spec.emulated_version)
        # The slot keeps its place in the order of stopping.
        slot = self._slots[component]
        await slot.stop()
        self._slots[component] = slot = getattr(self, f"_{component}")()
        await slot.start()
        log.info("%s restarted", component)
        return {}

    def _apiserver(self) -> _Slot:
        from drakit_embedded.apiserver import Server, ServerConfig

        return Server(
            ServerConfig(
                port=self._spec.port,
                token=self._spec.token,
                data_file=self._home.store,
                gates=self._gates["apiserver"],
                runtime_config=dict(self._spec.runtime_config),
                kubelet_token=self._kubelet_token,
            )
        )

    def _controllers(self) -> _Slot:
        from drakit_embedded import controllers

        connection = self._connect("controllers")
        return _Loop("controllers", connection, lambda: controllers.run(connection, gates=self._gates["controllers"]))

    def _scheduler(self) -> _Slot:
        from drakit_allocator.scheduler import Scheduler

        connection = self._connect("scheduler")
        scheduler = Scheduler(connection, gates=self._gates["scheduler"])
        return _Loop("scheduler", connection, scheduler.run)

    def _kubelet(self) -> _Slot:
        from drakit_embedded.kubelet import KubeletSimulator, NodeSpec

        return KubeletSimulator(
            self._connect("kubelet"),
            [NodeSpec(name) for name in self._spec.nodes],
            self._home.nodes,
            token=self._kubelet_token,
        )

    async def _start_driver(self, index: int, spec: DriverSpec) -> None:
        from drakit_driver.driver import Driver, NodeDirectories

        pools = pools_of(spec)
        directories = [
            NodeDirectories(node, self._home.nodes / node, self._home.nodes / node / "cdi") for node in spec.nodes
        ]
        name = pools[0].driver
        gates = FeatureGates(self._spec.emulated_version, {**self._spec.gates, **spec.gates})
        driver = Driver(self._connect(f"driver-{name}"), name, pools, gates=gates, nodes=directories)
        self._slots[f"driver-{index}"] = driver
        await driver.start()
        await driver.ready()
        log.info("driver %s started: %s on %d nodes", name, spec.profile, len(spec.nodes))


async def _serve(home: ClusterHome) -> None:
    spec = home.read_spec()
    if spec is None:
        raise ClusterError(f"{home.spec_file} does not exist; start clusters with `drakit cluster up`")
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    host = Host(spec, home)
    listener = await control.listen(home.control, host.restart)
    try:
        await host.start()
        announce_ready()
        await stopping.wait()
    finally:
        listener.close()
        await host.stop()
        home.control.unlink(missing_ok=True)


def main() -> None:
    """Entry point of the process; the directory must hold ``cluster.json``."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    home = ClusterHome(Path(sys.argv[1]))
    lock = home.lock()
    if lock is None:
        raise SystemExit(f"{home.directory}: this cluster is running already")
    with lock:
        asyncio.run(_serve(home))


if __name__ == "__main__":
    main()
