"""The components of a cluster on this machine: each is started in its slot and can be restarted alone.

A slot takes drakit's own component, in this process, or Kubernetes' program as a child of it, and nothing else in the
cluster changes: that is what the kit is for.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from drakit_client.errors import NotFound
from drakit_client.processes.readiness import announce_progress
from drakit_client.resources import NODES
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.clusters import kubeconfig
from drakit_kind.clusters.backends import started_components
from drakit_kind.clusters.flags import Behaviour, Change
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.ours import ApiServer, OurComponents
from drakit_kind.processes.concurrency import together
from drakit_kind.processes.slots import Access, RestartingAlone, Slot, end_cluster
from drakit_kind.processes.supervision import Supervisor

if TYPE_CHECKING:
    from drakit_kind.local.real_control_plane import ControlPlane

log = logging.getLogger("drakit")


class Components:
    """All components of one cluster."""

    def __init__(self, spec: ClusterSpec, home: ClusterHome) -> None:
        self._spec = spec
        self._home = home
        self._slots: dict[str, Slot] = {}
        self._behaviour: dict[Component, Behaviour] = {name: Behaviour.of(spec, name) for name in COMPONENTS}
        self._ours = OurComponents(spec, home)
        self._supervisor = Supervisor(self._revive, end_cluster, home.endings)
        self._ended: set[str] = set()  # what is in these slots has ended by itself
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._control_plane = _control_plane(spec, home, self._told) if spec.real else None
        self._access: Access | None = None
        self._changing = asyncio.Lock()  # held while what is in the slots is started or restarted
        self._restarts: set[asyncio.Task[Any]] = set()
        self._drivers = _names_of([f"driver {each.profile}" for each in spec.drivers])
        self._make: dict[str, Callable[[], Slot]] = {
            "etcd": lambda: self._real.etcd(),
            "apiserver": self._apiserver,
            "controllers": self._controllers,
            "scheduler": self._scheduler,
            "kubelet": self._kubelet,
            **{name: partial(self._driver, name, each) for name, each in zip(self._drivers, spec.drivers, strict=True)},
        }

    async def start(self) -> None:
        """Start everything; returns when nodes are Ready and drivers are registered."""
        self._home.endings.unlink(missing_ok=True)
        async with self._changing:
            await self._start_all()

    async def _start_all(self) -> None:
        if "apiserver" in self._spec.real:
            await self._start_component("etcd")
        await self._start_component("apiserver")
        access = self._reach
        config = kubeconfig.entry(f"drakit-{self._spec.name}", access.url, access.token, access.certificate)
        kubeconfig.write(self._home.kubeconfig, config)
        await self._forget_other_nodes()
        others = [component for component in started_components(self._spec) if component != "apiserver"]
        await together(*map(self._start_component, others))
        await together(*map(self._start_component, self._drivers))

    async def stop(self) -> None:
        """Stop in the opposite order, so that drivers and kubelets can still say goodbye; ends restarts first."""
        await self._supervisor.stop()
        for restart in self._restarts:
            restart.cancel()
        await asyncio.gather(*self._restarts, return_exceptions=True)
        while self._slots:
            name, slot = self._slots.popitem()
            try:
                await slot.stop()
            except Exception:
                log.exception("%s did not stop cleanly", name)

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request that came over the control socket: ``restart``, or what each component runs as now."""
        if request.get("ask") == "behaviours":
            return {name: msgspec.to_builtins(self._behaviour[name]) for name in COMPONENTS if name in self._slots}
        return await self.restart(request)

    async def restart(self, request: dict[str, Any]) -> dict[str, Any]:
        """Restart as ``{component, version, gates, emulated_version}`` says; None is as the cluster was started.

        Requests are served one at a time. What can be known to be wrong is found before anything is stopped.
        """
        # A task, so that `stop` can end it.
        restarting = asyncio.create_task(self._restart(request))
        self._restarts.add(restarting)
        restarting.add_done_callback(self._restarts.discard)
        await restarting
        return {}

    async def _restart(self, request: dict[str, Any]) -> None:
        from drakit_kind.local.backend import check_component

        component: Component = request["component"]
        async with self._changing:
            if component not in self._slots:
                running = ", ".join(name for name in COMPONENTS if name in self._slots)
                raise ClusterError(f"this cluster runs no {component}; it runs {running}")
            behaviour = Behaviour.of(self._spec, component, msgspec.convert(request, Change))
            check_component(self._spec, component, behaviour)
            before = self._behaviour[component]
            try:
                await self._restart_component(component, behaviour)
            except Exception:
                # A real component refuses gates when it starts, and that must not cost a running one.
                await self._go_back(component, before)
                raise
        log.info("%s restarted", component)

    async def _go_back(self, component: Component, before: Behaviour) -> None:
        try:
            await self._restart_component(component, before)
        except Exception as error:
            log.exception("%s does not start again as it was", component)
            end_cluster(f"{component} does not start again as it was: {error}")

    async def _restart_component(self, component: Component, behaviour: Behaviour) -> None:
        async with self._turns[component]:
            self._behaviour[component] = behaviour
            await self._start_again(component)

    async def _start_again(self, name: str) -> None:
        self._ended.discard(name)
        slot = self._slots[name]
        if isinstance(slot, RestartingAlone):
            await slot.restart(self._behaviour[cast("Component", name)])
            return
        await slot.stop()
        await self._start_component(name)

    def _told(self, name: str, reason: str) -> None:
        self._ended.add(name)
        self._supervisor.ended(name, reason)

    async def _revive(self, name: str) -> None:
        """Start again what has ended by itself in a slot, unless somebody has restarted it meanwhile."""
        async with self._turns[name]:
            if name not in self._ended:
                return
            try:
                await self._start_again(name)
            except BaseException:
                self._ended.add(name)
                raise
        log.info("%s is back", name)

    async def _start_component(self, name: str) -> None:
        slot = self._make[name]()
        self._slots[name] = slot  # a restarted one keeps its place in the order of stopping
        await slot.start()
        if isinstance(slot, ApiServer):
            self._access = slot.access
        elif name == "apiserver":
            self._access = self._real.access
        log.info("%s started", name)
        announce_progress(f"{name} started")

    async def _forget_other_nodes(self) -> None:
        """Delete nodes that only an earlier run had: Ready for ever, they would get pods that nobody runs."""
        directories = self._home.nodes.iterdir() if self._home.nodes.exists() else ()
        gone = [each for each in directories if each.is_dir() and each.name not in self._spec.nodes]
        if not gone:
            return
        async with self._reach.connect("nodes") as connection:
            for directory in gone:
                with suppress(NotFound):
                    await connection.delete(NODES, directory.name)
                shutil.rmtree(directory)

    @property
    def _reach(self) -> Access:
        assert self._access is not None, "the API server is started first"
        return self._access

    @property
    def _real(self) -> ControlPlane:
        assert self._control_plane is not None, "made for every cluster with a real component"
        return self._control_plane

    def _apiserver(self) -> Slot:
        behaviour = self._behaviour["apiserver"]
        if "apiserver" in self._spec.real:
            return self._real.apiserver(behaviour)
        client = self._real.kubelet_client() if "kubelet" in self._spec.real else None
        clients = self._control_plane.clients() if self._control_plane is not None else None
        return self._ours.apiserver(behaviour.feature_gates(), kubelet_client=client, clients=clients)

    def _controllers(self) -> Slot:
        behaviour = self._behaviour["controllers"]
        if "controllers" in self._spec.real:
            return self._real.controllers(self._reach, behaviour)
        return self._ours.controllers(self._reach, behaviour.feature_gates(), partial(self._told, "controllers"))

    def _scheduler(self) -> Slot:
        behaviour = self._behaviour["scheduler"]
        if "scheduler" in self._spec.real:
            return self._real.scheduler(self._reach, behaviour)
        return self._ours.scheduler(self._reach, behaviour.feature_gates(), partial(self._told, "scheduler"))

    def _kubelet(self) -> Slot:
        behaviour = self._behaviour["kubelet"]
        if "kubelet" in self._spec.real:
            return self._real.nodes(self._reach, behaviour)
        authority = self._real.authority.certificate if "apiserver" in self._spec.real else None
        gates, ended = behaviour.feature_gates(), partial(self._told, "kubelet")
        return self._ours.kubelet(self._reach, behaviour.version, gates, ended, client_authority=authority)

    def _driver(self, name: str, spec: DriverSpec) -> Slot:
        return self._ours.driver(self._reach, spec, partial(self._told, name))


def _names_of(drivers: Sequence[str]) -> list[str]:
    """Name each driver; add a number if several have the same profile."""
    return [
        f"{name} {drivers[:place].count(name) + 1}" if drivers.count(name) > 1 else name
        for place, name in enumerate(drivers)
    ]


def _control_plane(spec: ClusterSpec, home: ClusterHome, ended: Callable[[str, str], None]) -> ControlPlane:
    from drakit_kind.kubernetes.assets import assets_of
    from drakit_kind.local.real_control_plane import ControlPlane

    return ControlPlane(spec, home, partial(assets_of, spec), ended)
