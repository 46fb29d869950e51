"""What a machine needs so that real nodes can run on it, checked before anything is done to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from drakit_kind.cluster import ClusterError, Report, silent
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.control_plane.programs import Binaries
from drakit_kind.nodes import busybox, cgroups, network, tools

# linux/capability.h: the bit of each.
_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_MKNOD": 27}


def check_machine(binaries: Binaries, home: Path, *, nodes: int, report: Report = silent) -> None:
    """Raise one ``ClusterError`` that lists everything that is missing for so many nodes, each with the way out.

    ``home`` is where the cluster's files will be; it may not exist yet. If a busybox is all that is missing, it is
    downloaded here.
    """
    if nodes > network.MOST_NODES:
        raise ClusterError(f"{nodes} real nodes are too many for one machine: at most {network.MOST_NODES}")
    if sys.platform != "linux":
        raise ClusterError("real nodes run on Linux only; here, use simulated ones, or a kind cluster")
    if os.geteuid() != 0:
        raise ClusterError("real nodes need root, for mounts, cgroups and interfaces; or use simulated ones")
    _refuse([*_machine(home), *_binaries(binaries)])
    _get_busybox(report)


def main() -> None:
    """Say what this machine lacks but for Kubernetes' programs: the Makefile asks before it builds them for minutes."""
    if os.geteuid() == 0:  # others have simulated nodes
        try:
            _refuse(list(_machine(Path.cwd())))
            _get_busybox(print)
        except ClusterError as error:
            sys.exit(str(error))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise ClusterError("this machine lacks what real nodes need:" + "".join(f"\n- {each}" for each in problems))


def _get_busybox(report: Report) -> None:
    try:
        busybox.find_busybox(report)
    except ClusterError as error:
        _refuse([str(error)])


def _machine(home: Path) -> Iterable[str]:
    if lacking := tools.missing():
        yield lacking
    if why_none := busybox.obstacle():
        yield why_none
    yield from _rights()
    yield from _control_groups()
    yield from _file_system(home)


def _rights() -> Iterable[str]:
    lines = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    held = int(lines["CapEff"], 16)
    lacking = [name for name, bit in _CAPABILITIES.items() if not held >> bit & 1]
    if lacking:
        yield f"root is without {', '.join(lacking)} here; in a container, run that with --privileged"
        return
    try:
        tools.run("unshare", "--mount", "true")
    except ClusterError as error:
        yield f"no mount namespace can be made: {error}; in a container, run that with --privileged"
    if not os.access("/dev/kmsg", os.R_OK):
        yield "kubelets read /dev/kmsg, which is not there; in a container, run that with --privileged"


def _control_groups() -> Iterable[str]:
    found = cgroups.hierarchies()
    if not found:
        yield "no cgroups are mounted below /sys/fs/cgroup; mount cgroup2 there"
        return
    if missing := cgroups.missing(found):
        yield f"there is no cgroup controller {', '.join(missing)}; is it in the kernel's option cgroup_disable?"
    closed = [str(each.mount) for each in found if not os.access(each.mount, os.W_OK)]
    if closed:
        yield f"cgroups cannot be made in {', '.join(closed)}; in a container, use --privileged"


def _file_system(home: Path) -> Iterable[str]:
    existing = home.absolute()
    while not existing.exists():
        existing = existing.parent
    if os.statvfs(existing).f_flag & os.ST_NOEXEC:
        yield (
            f"{home} is on a file system from which nothing can be run (noexec); choose another with DRAKIT_HOME or "
            "--data-dir"
        )


def _binaries(binaries: Binaries) -> Iterable[str]:
    for name in PROGRAMS["kubelet"]:
        try:
            binaries.path(name)
        except ClusterError as error:
            yield str(error)


if __name__ == "__main__":
    main()
