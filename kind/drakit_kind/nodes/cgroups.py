"""The control groups of one cluster: all of its processes are in them, so that none is missed when it ends.

A child group in each hierarchy that the machine has, never more: hierarchies themselves are the machine's. Machines
with cgroup v1 have one hierarchy for each controller and perhaps an empty one of v2; with v2 there is one for all.
After Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes.mounts import Mount, mounts

# Without these controllers a kubelet does not start.
NEEDED = ("cpu", "cpuset", "memory", "pids")
_NEEDED_V1 = (*NEEDED, "cpuacct", "devices", "freezer")
_KILL_SECONDS = 20.0
_REMOVE_SECONDS = 10.0
_PAUSE = 0.02


@dataclass(frozen=True)
class Hierarchy:
    """Where a hierarchy is mounted, and with v1 what it controls."""

    mount: Path
    unified: bool
    controllers: frozenset[str] = frozenset()


def hierarchies(mounted: Iterable[Mount] | None = None) -> list[Hierarchy]:
    """List the hierarchies among these mounts, by default those of this machine."""
    found: dict[Path, Hierarchy] = {}
    for mount in mounts() if mounted is None else mounted:
        if mount.kind == "cgroup2":
            found[mount.point] = Hierarchy(mount.point, unified=True)
        elif mount.kind == "cgroup":
            named = {option.removeprefix("name=") for option in mount.options} - {"rw", "ro"}
            found[mount.point] = Hierarchy(mount.point, unified=False, controllers=frozenset(named))
    return list(found.values())


def missing(found: Sequence[Hierarchy]) -> list[str]:
    """List the cgroup controllers that a kubelet needs and this machine does not offer."""
    if all(hierarchy.unified for hierarchy in found):
        offered: set[str] = set()
        for hierarchy in found:
            with suppress(OSError):
                offered |= set(controllers(hierarchy.mount))
        return [name for name in NEEDED if name not in offered]
    offered = {name for hierarchy in found for name in hierarchy.controllers}
    return [name for name in _NEEDED_V1 if name not in offered]


class ControlGroup:
    """One group, of the same path in each hierarchy; ``name`` is relative to the root, e.g. ``drakit-4f2a/node-1``."""

    def __init__(self, name: str, found: Iterable[Hierarchy]) -> None:
        self.name = name
        self._hierarchies = list(found)
        self._v2_only = all(hierarchy.unified for hierarchy in self._hierarchies)

    @property
    def path(self) -> str:
        """The path from the root of each hierarchy, as kubelets are told it."""
        return f"/{self.name}"

    @property
    def directories(self) -> list[Path]:
        """The group in each hierarchy, whether it exists or not."""
        return [hierarchy.mount / self.name for hierarchy in self._hierarchies]

    def child(self, name: str) -> ControlGroup:
        """Return the group of this name below this one."""
        return ControlGroup(f"{self.name}/{name}", self._hierarchies)

    def make(self) -> None:
        """Create it in each hierarchy, with the controllers (v2) or the CPUs and memory nodes (v1) of its parent.

        A group directly below the root of v2 gets those that ``leftovers.enable_controllers`` has enabled. Raises
        ``ClusterError`` where a kubelet needs more.
        """
        for directory in self.directories:
            try:
                if self._v2_only:
                    if "/" in self.name:
                        enable(directory.parent, controllers(directory.parent))
                    _check_enabled(directory.parent)
                directory.mkdir(exist_ok=True)
            except OSError as error:
                raise ClusterError(f"control group {directory}: {error.strerror}") from error
            for name in ("cpuset.cpus", "cpuset.mems"):
                if not self._v2_only and (directory / name).exists():
                    # A v1 group without these takes no process.
                    (directory / name).write_text((directory.parent / name).read_text())

    def entries(self) -> list[Path]:
        """List the files to write a process ID to, so that it and its later children belong to this group."""
        return [directory / "cgroup.procs" for directory in self.directories]

    def pids(self) -> set[int]:
        """Return the IDs of all processes in this group and in all groups below."""
        found: set[int] = set()
        for directory in self._tree():
            with suppress(OSError):  # removed meanwhile
                found |= {int(line) for line in (directory / "cgroup.procs").read_text().split()}
        return found - {0}  # of another pid namespace

    def kill(self, *, seconds: float = _KILL_SECONDS) -> None:
        """End all processes in it and below, and wait until they are gone; ``ClusterError`` if some do not end."""
        deadline = time.monotonic() + seconds
        while pids := self.pids():
            if time.monotonic() > deadline:
                raise ClusterError(f"processes {sorted(pids)} of control group {self.path} do not end")
            self._kill_once()
            time.sleep(_PAUSE)

    def _kill_once(self) -> None:
        """Nothing is forked between looking and killing: the group is frozen, or the kernel kills it whole."""
        for directory in self.directories:
            with suppress(OSError):
                (directory / "cgroup.kill").write_text("1")
        _write(self._tree("freezer.state"), "FROZEN")
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Also those that a container runtime had frozen: a frozen process does not die before it is thawed.
        _write(self._tree("freezer.state"), "THAWED")

    def remove(self, *, seconds: float = _REMOVE_SECONDS) -> None:
        """Remove it and all groups below; ``ClusterError`` if one is still in use."""
        deadline = time.monotonic() + seconds
        for directory in self._tree():
            while True:
                try:
                    directory.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError as error:  # EBUSY for an instant after the last process ended
                    if time.monotonic() > deadline:
                        raise ClusterError(f"control group {directory} cannot be removed: {error.strerror}") from error
                    time.sleep(_PAUSE)

    def _tree(self, file: str = "") -> Iterator[Path]:
        """All directories, or ``file`` in them where it is, deepest first."""
        for top in self.directories:
            for directory, _, files in os.walk(top, topdown=False):
                if not file:
                    yield Path(directory)
                elif file in files:
                    yield Path(directory, file)


def _write(files: Iterable[Path], text: str) -> None:
    for file in files:
        with suppress(OSError):
            file.write_text(text)


def controllers(directory: Path) -> list[str]:
    """List the controllers that the children of a v2 group may be given."""
    return (directory / "cgroup.controllers").read_text().split()


def enabled(directory: Path) -> list[str]:
    """List the controllers that the children of a v2 group have."""
    return (directory / "cgroup.subtree_control").read_text().split()


def enable(directory: Path, names: Iterable[str]) -> None:
    """Let the children of a v2 group have these controllers, as far as the kernel allows."""
    for name in set(names) - set(enabled(directory)):
        with suppress(OSError):  # not e.g. real-time ones
            _control(directory, f"+{name}")


def disable(directory: Path, name: str) -> None:
    """Take a controller from the children of a v2 group, unless one of them has enabled it for its own."""
    with suppress(OSError):
        _control(directory, f"-{name}")


def _control(directory: Path, word: str) -> None:
    (directory / "cgroup.subtree_control").write_text(word)


def _check_enabled(directory: Path) -> None:
    if lacking := [name for name in NEEDED if name not in enabled(directory)]:
        raise ClusterError(
            f"groups below {directory} cannot have the controllers {', '.join(lacking)}, as a group that has processes "
            "itself gives none on; in a container, run that with --cgroupns=host"
        )
