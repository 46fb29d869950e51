"""drakit's own components, each as a slot of the process that supervises a cluster.

They share that process to be quick to start, and nothing else: each has its own connection, and they meet at the HTTP
port and at the kubelets' sockets as the real ones do. Each is imported when it is started.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_kind import bounds
from drakit_kind.cluster import ClusterSpec, DriverSpec
from drakit_kind.clusters.backends import started_components
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.known_gates import driver_gates
from drakit_kind.processes.drivers import pools_of
from drakit_kind.processes.slots import Access, Ended, Loop, Slot, readable_cause

if TYPE_CHECKING:
    from drakit_driver.driver import Driver
    from drakit_embedded.apiserver import KubeletAccess, ServerConfig
    from drakit_kind.control_plane.authority import KeyPair
    from drakit_kind.local.real_control_plane import Clients

# A cluster is in use long before anything has lost its owner, and looking through all kinds would delay its start.
_GARBAGE_SECONDS = 1.0


class OurComponents:
    """Makes them for one cluster; the API server and the kubelets share a secret, so they come from one place."""

    def __init__(self, spec: ClusterSpec, home: ClusterHome) -> None:
        self._spec = spec
        self._home = home
        self._kubelet_token = secrets.token_urlsafe(32)

    def apiserver(self, gates: FeatureGates, *, kubelet_client: KeyPair | None, clients: Clients | None) -> ApiServer:
        """Make the embedded API server on its SQLite file.

        ``kubelet_client`` is what it shows to real kubelets, ``clients`` are the real components that it is to know.
        """
        from drakit_embedded.apiserver import ServerConfig
        from drakit_embedded.apiserver.identity.users import User

        config = ServerConfig(
            port=self._spec.port,
            token=self._spec.token,
            data_file=self._home.store,
            gates=gates,
            beside=frozenset(started_components(self._spec)) - self._spec.real - {"apiserver"},
            runtime_config=self._spec.runtime_config,
            tls=self._spec.tls,
            socket=self._home.api,
            kubelets=self._kubelets(kubelet_client),
            users={token: User(name, name) for token, name in clients.users.items()} if clients else {},
            client_ca_file=clients.authority if clients else None,
            service_account_key_file=clients.account_key if clients else None,
        )
        return ApiServer(config, self._home.api)

    def _kubelets(self, client: KeyPair | None) -> KubeletAccess:
        """Real kubelets are shown a client certificate; ours get a token, and are known by their own authority."""
        from drakit_embedded import certificates
        from drakit_embedded.apiserver import KubeletAccess

        if client is not None:
            return KubeletAccess(certificate=client.certificate, key=client.key)
        return KubeletAccess(authority=self._home.nodes / certificates.OF_KUBELETS, token=self._kubelet_token)

    def controllers(self, access: Access, gates: FeatureGates, ended: Ended) -> Slot:
        """Make all controllers, as one loop."""
        from drakit_embedded import controllers

        connection = access.connect("controllers")
        ready = asyncio.Event()
        root_ca = (access.certificate or b"").decode()
        run = partial(
            controllers.run, connection, gates=gates, root_ca=root_ca, ready=ready, garbage_delay=_GARBAGE_SECONDS
        )
        return Loop("controllers", connection, run, ready, ended)

    def scheduler(self, access: Access, gates: FeatureGates, ended: Ended) -> Slot:
        """Make drakit's scheduler, with a connection of its own."""
        from drakit_allocator.scheduler import Scheduler

        connection = access.connect("scheduler")
        scheduler = Scheduler(connection, gates=gates)
        return Loop("scheduler", connection, scheduler.run, scheduler.synced, ended)

    def kubelet(
        self, access: Access, version: str, gates: FeatureGates, ended: Ended, *, client_authority: Path | None
    ) -> Slot:
        """Make simulated kubelets; ``client_authority`` signs the client certificate of a real API server."""
        from drakit_embedded.kubelet import KubeletSimulator, NodeSpec, Release

        nodes = [NodeSpec(name) for name in self._spec.nodes]
        return KubeletSimulator(
            access.connect("kubelet"),
            nodes,
            self._home.nodes,
            token=self._kubelet_token,
            client_ca_file=client_authority,
            release=Release(version, gates),
            broken=lambda error: ended(f"kubelets ended by themselves: {readable_cause(error)}"),
        )

    def driver(self, access: Access, spec: DriverSpec, ended: Ended) -> Slot:
        """Make a driver for simulated or real nodes, with a connection of its own."""
        from drakit_driver.driver import Driver, NodeDirectories
        from drakit_driver.profiles.reading import catalog

        pools = pools_of(spec)
        nodes = self._home.nodes
        directories = [NodeDirectories(node, nodes / node, nodes / node / "cdi") for node in spec.nodes]
        name = pools[0].driver
        connection = access.connect(f"driver-{name}")
        gates, classes = driver_gates(self._spec, spec), catalog.device_classes(spec.profile, name)
        driver = Driver(connection, name, pools, gates=gates, nodes=directories, classes=classes)
        return OwnDriver(driver, connection, ended, bounds.driver_start(self._spec.driven_nodes))


class OwnDriver:
    """A driver in this process, ready within ``seconds``; ``ended`` is told when a part of it has failed."""

    def __init__(self, driver: Driver, connection: Connection, ended: Ended, seconds: float) -> None:
        self._driver = driver
        self._connection = connection
        self._ended = ended
        self._seconds = seconds
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start it; returns when its pools are published and its plugins registered."""
        await self._driver.start()
        await self._driver.ready(self._seconds)
        self._watch = asyncio.create_task(self._watched())

    async def stop(self) -> None:
        """Stop it and close its connection; what it has published stays."""
        if self._watch is not None:
            self._watch.cancel()
        await self._driver.stop()
        await self._connection.close()

    async def _watched(self) -> None:
        self._ended(await self._driver.broken())


class ApiServer:
    """The embedded API server as a slot that knows how it is reached once it is started."""

    def __init__(self, config: ServerConfig, socket: Path) -> None:
        from drakit_embedded.apiserver import Server

        self.config = config
        self._server = Server(config)
        self._token = config.token or ""
        self._socket = socket

    async def start(self) -> None:
        """Start to serve requests."""
        await self._server.start()

    async def stop(self) -> None:
        """Finish the requests under way and close the store."""
        await self._server.stop()

    @property
    def access(self) -> Access:
        """How to reach it; inside this process the unix socket, because handshakes cost 0.3 s of a start."""
        return Access(self._server.url, self._token, self._server.ca_certificate, self._socket)
