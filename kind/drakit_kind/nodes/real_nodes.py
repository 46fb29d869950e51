"""The nodes of one cluster, in the slot where simulated ones would be."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import NODES
from drakit_kind import bounds, images
from drakit_kind.cluster import ClusterError, cleaning_up_after
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.clusters.heartbeats import is_ready_since, next_second, seconds_until
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.control_plane.programs import Binaries
from drakit_kind.nodes.busybox import find_busybox
from drakit_kind.nodes.containerd_config import network_config
from drakit_kind.nodes.credentials import NodeCredentials
from drakit_kind.nodes.kubelet_config import settable_gates
from drakit_kind.nodes.node import Node, Place
from drakit_kind.nodes.premises import Premises
from drakit_kind.processes.concurrency import in_thread, together
from drakit_kind.processes.spawn import log_tail

log = logging.getLogger(__name__)

_READY_PAUSE = 0.1


class RealNodes:
    """Nodes ``names`` of the cluster in ``home``; needs root, see ``requirements``.

    ``behaviour`` says which kubelet, with which gates; ``binaries`` gives the programs of a version. ``connect`` opens
    a connection that may read nodes. ``ended`` is told when a kubelet ends by itself, which can be restarted, and
    ``lost`` when a containerd does, without which the containers of its node are lost.
    """

    def __init__(
        self,
        names: Sequence[str],
        home: ClusterHome,
        behaviour: Behaviour,
        *,
        binaries: Callable[[str], Binaries],
        credentials: NodeCredentials,
        connect: Callable[[], Connection],
        ended: Callable[[str], None],
        lost: Callable[[str], None],
    ) -> None:
        self._names = list(names)
        self._home = home
        self._behaviour = behaviour
        self._binaries = binaries
        self._credentials = credentials
        self._connect = connect
        self._ended = ended
        self._lost = lost
        self._premises = Premises(home)
        self._nodes: list[Node] = []

    async def start(self) -> None:
        """Start all nodes; returns when they are Ready. When it fails or is cancelled, nothing of them is left."""
        try:
            await self._start()
        except BaseException as error:
            with cleaning_up_after(error):
                await self.stop()
            raise

    async def _start(self) -> None:
        binaries = self._binaries(self._behaviour.version)
        await self._premises.take(len(self._names))
        archives = await in_thread(_images, binaries, self._directory)
        pods = network_config(self._premises.bridge, self._premises.subnet, self._allocations())
        self._nodes = [
            Node(place, self._credentials, self._ended, self._lost) for place in self._places(self._premises.addresses)
        ]
        await together(*(node.start_containerd(binaries, pods, archives) for node in self._nodes))
        await self._start_kubelets(self._behaviour, datetime.now(UTC).replace(microsecond=0))

    async def stop(self) -> None:
        """End all nodes with everything on them."""
        nodes, self._nodes = self._nodes, []
        try:
            await together(*(node.stop() for node in nodes))
        finally:
            await self._premises.leave()

    async def restart(self, behaviour: Behaviour) -> None:
        """Restart the kubelets, as another version or with other gates; containers go on.

        Raises ``ClusterError`` if they do not start so; it can be called again then.
        """
        await together(*(node.stop_kubelet() for node in self._nodes))
        began = next_second(datetime.now(UTC))
        await asyncio.sleep(seconds_until(began))
        await self._start_kubelets(behaviour, began)

    async def _start_kubelets(self, behaviour: Behaviour, began: datetime) -> None:
        binaries = self._binaries(behaviour.version)
        gates, left_out = settable_gates(behaviour)
        if left_out:
            log.info("kubelet %s cannot be told of %s: left out", behaviour.version, ", ".join(left_out))
        await together(*(node.start_kubelet(binaries, gates) for node in self._nodes))
        await self._until_ready(began)

    @property
    def _directory(self) -> Path:
        """What all nodes of the cluster have in common."""
        return self._home.directory / "nodes"

    def _places(self, addresses: Sequence[str]) -> list[Place]:
        group, nodes = self._premises.group, self._home.nodes
        log_file = self._home.component_log
        return [
            Place(name=name, root=nodes / name, address=address, group=group.child(name), log=log_file)
            for name, address in zip(self._names, addresses, strict=True)
        ]

    def _allocations(self) -> Path:
        """Which pod has which address; nothing of it holds after a restart, as no pod's network does."""
        directory = self._directory / "addresses"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True, mode=0o700)
        return directory

    async def _until_ready(self, began: datetime) -> None:
        """Wait until the kubelets that were started say that their nodes are Ready; what earlier ones said is old."""
        deadline = time.monotonic() + bounds.NODES_READY
        waiting = self._names
        async with self._connect() as connection:
            while waiting:
                waiting = [name for name in waiting if not is_ready_since(await _node(connection, name), began)]
                if waiting and time.monotonic() > deadline:
                    file = self._home.component_log(f"kubelet-{waiting[0]}")
                    raise ClusterError(
                        f"nodes {', '.join(waiting)} are not Ready after {bounds.NODES_READY:.0f} s; "
                        f"the end of {file}:{log_tail(file)}"
                    )
                await asyncio.sleep(_READY_PAUSE if waiting else 0)


def _images(binaries: Binaries, directory: Path) -> list[Path]:
    """Write the archives of the images that every node has: that of pod sandboxes, and that of test containers."""
    directory.mkdir(exist_ok=True, mode=0o700)
    pause, busybox = directory / "pause.tar", directory / "busybox.tar"
    images.pause_archive(pause, binaries.path("pause"))
    images.busybox_archive(busybox, find_busybox())
    return [pause, busybox]


async def _node(connection: Connection, name: str) -> Mapping[str, Any] | None:
    try:
        return await connection.get(NODES, name)
    except REQUEST_FAILURES:
        return None  # not registered yet, or the API server is just being restarted
