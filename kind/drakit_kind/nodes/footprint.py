"""What of drakit is on this machine at a moment, so that a test can compare before and after.

Looks at the machine itself, not at what drakit has written down: what was forgotten there must not be forgotten here.
It knows the places that kubelets, containerd and CNI are known to leave things in, and takes from shared ones, such as
the list of processes, only what can be drakit's. Processes are drakit's by what they are (a component of drakit), by
where they are (a control group of a cluster), or by whom they come from: the programs of a control plane are called as
everywhere, and the same program may be running for somebody else.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import CLUSTER_VARIABLE, base_directory
from drakit_kind.nodes.cgroups import hierarchies
from drakit_kind.nodes.leftovers import MARK, RECORDS, before_raised
from drakit_kind.nodes.mounts import mounts
from drakit_kind.nodes.namespaces import COVERED, SETTINGS
from drakit_kind.nodes.tools import tool

_OURS = "drakit-"
# The bridge plugin of CNI names interfaces so; Docker's have one digit less.
_INTERFACE = re.compile(rf"{_OURS}.*|veth[0-9a-f]{{8}}")
_CGROUP = re.compile(rf"/{_OURS}[0-9a-f]+(/|$)", re.MULTILINE)
_RULE = re.compile(r"KUBE-|CNI-|drakit")
# The default directories of these programs.
_DEFAULTS = (
    "/etc/cdi",
    "/etc/cni",
    "/etc/kubernetes",
    "/opt/cni",
    "/opt/containerd",
    "/run/cdi",
    "/run/nri",
    "/usr/libexec/kubernetes",
    "/var/lib/containerd",
    "/var/log/pods",
)
_SETTINGS = (*SETTINGS, "fs/inotify/max_user_instances", "fs/inotify/max_user_watches", "net/ipv4/ip_forward")
_SECONDS = 10.0


def footprint() -> frozenset[str]:
    """List what there is of drakit, each thing as a line such as ``interface drakit-4f2a61``."""
    return frozenset(
        [
            *_processes(),
            *_mounts(),
            *_control_groups(),
            *_network(),
            *_packet_filter(),
            *_files(),
            *_settings(),
        ]
    )


def _processes() -> Iterator[str]:
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked
            arguments = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")
            # A zombie, which ended but was not waited for, has no command line.
            if arguments[0] and (_is_drakit(arguments) or _is_of_cluster(directory)):
                yield f"process {directory.name} {' '.join(arguments[:4])}"


def _is_drakit(arguments: list[str]) -> bool:
    return any(option == "-m" and name.startswith("drakit") for option, name in itertools.pairwise(arguments))


def _is_of_cluster(process: Path) -> bool:
    if _CGROUP.search((process / "cgroup").read_text()):
        return True
    variables = (process / "environ").read_bytes().split(b"\0")  # none of our business where it cannot be read
    return any(variable.startswith(f"{CLUSTER_VARIABLE}=".encode()) for variable in variables)


def _mounts() -> Iterator[str]:
    for mount in mounts():
        if any(mount.point.is_relative_to(place) for place in COVERED):
            yield f"mount {mount.point} {mount.kind}"


def _control_groups() -> Iterator[str]:
    for hierarchy in hierarchies():
        for group in hierarchy.mount.glob(f"{_OURS}*"):
            yield f"control group {group}"


def _network() -> Iterator[str]:
    for interface in Path("/sys/class/net").iterdir():
        if _INTERFACE.fullmatch(interface.name):
            yield f"interface {interface.name}"
    for namespace in Path("/run/netns").glob("cni-*"):
        yield f"network namespace {namespace}"


def _packet_filter() -> Iterator[str]:
    for program, *arguments in (("iptables-save",), ("ip6tables-save",), ("nft", "list", "ruleset")):
        try:
            command = [tool(program), *arguments]
        except ClusterError:
            continue  # without the program nothing of drakit has made rules with it
        listed = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False).stdout.decode()
        yield from (f"{program}: {line.strip()}" for line in listed.splitlines() if _RULE.search(line))


def _files() -> Iterator[str]:
    yield from (f"file {path}" for path in (RECORDS, *RECORDS.glob("*")) if path.exists())
    for directory in COVERED:
        with suppress(OSError):
            content = list(directory.iterdir())
            if not content or directory / MARK in content:
                yield f"directory {directory}"
    yield from (f"directory {name}" for name in _DEFAULTS if Path(name).exists())
    for base in {"/tmp", tempfile.gettempdir()}:  # noqa: S108  # where clusters have their directories, and the rest
        yield from (f"file {path}" for path in Path(base).glob(f"{_OURS}*"))
    yield from (f"file {path}" for path in base_directory().glob(f".{_OURS}*"))


def _settings() -> Iterator[str]:
    """As they will be when the last cluster is gone: one that runs beside the one looked for may end meanwhile."""
    for setting in _SETTINGS:
        with suppress(OSError):
            yield f"setting {setting} = {_as_it_will_be(Path('/proc/sys', setting), setting)}"


def _as_it_will_be(file: Path, setting: str) -> int:
    while True:
        now = int(file.read_text())
        later = before_raised(setting, now)
        if int(file.read_text()) == now:  # else a cluster began or ended while we looked
            return later
