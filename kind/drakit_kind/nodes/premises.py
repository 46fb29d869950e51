"""What the nodes of one cluster share on the machine: a control group, a network and a few directories.

Everything here is written down before it is made, and given back by ``leave``.
"""

from __future__ import annotations

from ipaddress import IPv4Network

from drakit_kind.clusters.home import ClusterHome
from drakit_kind.nodes import leftovers, network
from drakit_kind.nodes.cgroups import ControlGroup, hierarchies
from drakit_kind.nodes.guard import Guard
from drakit_kind.nodes.leftovers import Journal
from drakit_kind.nodes.namespaces import COVERED
from drakit_kind.processes.concurrency import in_thread

# A node takes 8 of the first, and many machines allow 128 for all of root's processes together.
_SETTINGS = {"fs/inotify/max_user_instances": 8192, "fs/inotify/max_user_watches": 65536}


class Premises:
    """The premises of the cluster in ``home``, from ``take`` to ``leave``."""

    group: ControlGroup
    bridge: str
    subnet: IPv4Network
    addresses: list[str]

    def __init__(self, home: ClusterHome) -> None:
        self._home = home
        self._journal: Journal | None = None
        self._guard: Guard | None = None

    async def take(self, nodes: int) -> None:
        """Make everything for so many nodes, after undoing what killed clusters have left on this machine."""
        await in_thread(self._open)
        assert self._journal is not None
        self._guard = Guard(self._journal.path, self._home.component_log("guard"))
        self._guard.start()
        await in_thread(self._make, self._journal, nodes)

    def _open(self) -> None:
        home = self._home.directory
        leftovers.undo_dead(home)
        leftovers.undo_dead()
        self._home.logs.mkdir(exist_ok=True, mode=0o700)
        self._journal = Journal.create(home)

    def _make(self, journal: Journal, nodes: int) -> None:
        self.bridge = f"drakit-{journal.identity}"
        found = hierarchies()
        with leftovers.machine_lock():
            for directory in COVERED:
                leftovers.make_directory(journal, directory)
            for setting, least in _SETTINGS.items():
                leftovers.raise_setting(journal, setting, least)
            leftovers.enable_controllers(journal, found)
            self.subnet = network.free_subnet(network.used_networks())
            self.addresses = [network.node_address(self.subnet, index) for index in range(nodes)]
            journal.write({"effect": "bridge", "name": self.bridge})
            network.create_bridge(self.bridge, self.subnet, self.addresses)
        # Last, so that it is undone first: what is left of a network goes with the processes that use it.
        self.group = ControlGroup(f"drakit-{journal.identity}", found)
        journal.write({"effect": "cgroup", "name": self.group.name})
        self.group.make()

    async def leave(self) -> None:
        """Give everything back; ``ClusterError`` names what could not be, and the guard goes on trying."""
        journal, self._journal = self._journal, None
        try:
            if journal is not None:
                await in_thread(journal.undo)
        finally:
            if journal is not None:
                journal.close()
            if self._guard is not None:
                await self._guard.stop()
                self._guard = None
