"""One driver instance: publishers for its pools and a kubelet plugin for each node it serves.

On real nodes one process serves one node. For multi-host devices, and where many fake nodes live on one machine, one
process may serve several, each through its own kubelet directory. Pools that belong to a node are published for that
node, with the Node as owner; pools that span nodes have one publisher. Without ``publish`` nothing is published.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_driver.api_versions import API_FAILURES
from drakit_driver.plugin.health import HealthBoard
from drakit_driver.plugin.server import KubeletPlugin
from drakit_driver.plugin.services import ALL_SERVICES
from drakit_driver.plugin.sockets import PluginError, PluginPaths
from drakit_driver.preparing.cdi import CdiSpecs
from drakit_driver.preparing.checkpoint import Checkpoint
from drakit_driver.preparing.commitments import Inventory
from drakit_driver.preparing.prepare import Preparer
from drakit_driver.publishing import device_classes
from drakit_driver.publishing.publisher import Publisher
from drakit_driver.reports import Problem, Reminders, Report

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.layouts.pools import Pool

log = logging.getLogger(__name__)

_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class NodeDirectories:
    """A node that this instance serves, and where its kubelet and its container runtime look."""

    node: str
    kubelet_dir: Path
    cdi_dir: Path


class Driver:
    """``start``, ``ready``, ``stop``. ``pools`` may still have mixins; the plugins flatten them for themselves.

    ``nodes`` get a kubelet plugin each; ``publish`` says whether slices are published; ``classes`` are
    the device classes to apply. ``report`` gets one line per change of state.
    """

    def __init__(
        self,
        connection: Connection,
        driver: str,
        pools: Sequence[Pool],
        *,
        gates: FeatureGates,
        nodes: Sequence[NodeDirectories] = (),
        publish: bool = True,
        classes: Sequence[Object] = (),
        plugin_versions: Sequence[str] = ALL_SERVICES,
        report: Report = log.info,
    ) -> None:
        self.name = driver
        self._connection = connection
        self._pools = list(pools)
        self._gates = gates
        self._nodes = list(nodes)
        self._report = report
        self._versions = tuple(plugin_versions)
        self._classes = list(classes)
        self._publishers = self._make_publishers() if publish else []
        self._plugins: dict[str, KubeletPlugin] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._check_directories()

    @property
    def plugins(self) -> dict[str, KubeletPlugin]:
        """The running kubelet plugins, by node."""
        return dict(self._plugins)

    @property
    def publishers(self) -> list[Publisher]:
        """One for each node with pools of its own, and one for pools that span nodes; none without ``publish``."""
        return list(self._publishers)

    async def start(self) -> None:
        """Start everything; raises ``PluginError`` or ``CheckpointError`` and leaves nothing behind."""
        try:
            for directories in self._nodes:
                self._plugins[directories.node] = plugin = self._make_plugin(directories)
                await plugin.start()
        except BaseException:
            await self._stop_plugins()
            raise
        for publisher in self._publishers:
            self._run(publisher.run(), f"publisher {publisher.node_name or 'of all nodes'}")
        if self._classes:
            self._run(self._until_done(self._apply_classes), "device classes")
        for plugin in self._plugins.values():
            self._run(plugin.tell_that_no_kubelet_asks(), f"registration {plugin.preparer.node}")
            self._run(self._until_done(plugin.preparer.forget_gone_claims), f"reconcile {plugin.preparer.node}")

    async def ready(self, timeout: float | None = 30.0) -> None:
        """Wait until all pools are published and all plugins registered; raises ``TimeoutError`` saying what is not.

        None waits for ever, which only a process that also watches for its own end should do.
        """
        waits = [publisher.published(timeout) for publisher in self._publishers]
        waits += [plugin.registered(timeout) for plugin in self._plugins.values()]
        await asyncio.gather(*waits)

    async def broken(self) -> str:
        """Wait until a part stops because of an internal error, which should never happen; what it was."""
        return await asyncio.shield(self._broken)

    async def stop(self, *, cleanup: bool = False) -> None:
        """Unregister and stop. Slices stay, since pods keep running while a driver is updated, unless ``cleanup``."""
        await self._stop_plugins()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        if cleanup:
            try:
                for publisher in self._publishers:
                    await publisher.cleanup()
                await device_classes.remove_unused(self._connection, self.name, self._classes, self._report)
            except API_FAILURES as error:
                self._report(Problem(f"driver {self.name}: slices not removed: {error or type(error).__name__}"))

    def update(self, pools: Sequence[Pool]) -> None:
        """Publish and serve other pools from now on; only pools that changed are written.

        Raises ``ValueError``, and changes nothing, for pools of a node that had none when the driver was made.
        """
        scopes = {publisher.node_name for publisher in self._publishers}
        if scopes and (unknown := {pool.node_name for pool in pools} - scopes):
            names = ", ".join(sorted(name or "no node" for name in unknown))
            raise ValueError(f"driver {self.name} had no pools of {names} when it was made; make another driver")
        self._pools = list(pools)
        for publisher in self._publishers:
            publisher.update([pool for pool in self._pools if pool.node_name == publisher.node_name])
        for node, plugin in self._plugins.items():
            inventory = self._inventory(node)
            plugin.preparer.inventory = inventory
            plugin.board.replace_devices(inventory.devices)

    def _make_publishers(self) -> list[Publisher]:
        scopes = dict.fromkeys(pool.node_name for pool in self._pools)
        return [
            Publisher(
                self._connection,
                self.name,
                [pool for pool in self._pools if pool.node_name == scope],
                node_name=scope,
                gates=self._gates,
                report=self._report,
            )
            for scope in scopes
        ]

    def _make_plugin(self, directories: NodeDirectories) -> KubeletPlugin:
        paths = PluginPaths(directories.kubelet_dir, self.name)
        inventory = self._inventory(directories.node)
        preparer = Preparer(
            self._connection,
            self.name,
            directories.node,
            inventory,
            checkpoint=Checkpoint(paths.data_dir),
            specs=CdiSpecs(directories.cdi_dir, self.name),
            report=self._report,
        )
        board = HealthBoard(inventory.devices)
        return KubeletPlugin(paths, preparer, board, versions=self._versions, report=self._report)

    def _inventory(self, node: str) -> Inventory:
        # Imported here: instances that only publish do not need it.
        from drakit_api.layouts.mixins import flatten

        return Inventory(flatten(pool) for pool in self._pools if pool.node_name in (None, node))

    def _check_directories(self) -> None:
        for what in ("node", "kubelet_dir", "cdi_dir"):
            values = [getattr(directories, what) for directories in self._nodes]
            if len(set(values)) != len(values):
                raise PluginError(
                    f"driver {self.name}: several nodes have the same {what.replace('_', ' ')}; "
                    "put {node} into the directory, e.g. --kubelet-dir ~/.drakit/default/n/{node}"
                )

    async def _stop_plugins(self) -> None:
        await asyncio.gather(*(plugin.stop() for plugin in self._plugins.values()))
        self._plugins.clear()

    def _run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(asyncio.create_task(self._guarded(work, name), name=f"{self.name}: {name}"))

    async def _guarded(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception as error:
            log.exception("driver %s: %s stopped", self.name, name)
            if not self._broken.done():
                self._broken.set_result(f"driver {self.name}: {name} stopped: {error!r}")

    async def _until_done(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        reminders = Reminders()
        while True:
            try:
                await work()
                return
            except API_FAILURES as error:
                message = str(error) or type(error).__name__
                if reminders.due("", message):
                    self._report(Problem(f"driver {self.name}: {message}"))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _apply_classes(self) -> None:
        await device_classes.apply(self._connection, self._classes, self._report)
