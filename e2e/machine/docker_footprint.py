"""What there is on this machine of Docker and of what kind clusters do to it, beside drakit's own footprint."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.kind.docker import docker
from drakit_kind.nodes.footprint import footprint
from drakit_kind.nodes.mounts import mounts
from drakit_kind.nodes.tools import tool

_SECONDS = 20.0
_CONTAINER = re.compile(r"[0-9a-f]{64}")  # in the path of a container's control group, whatever the daemon's parent is


def docker_footprint() -> frozenset[str]:
    """One line for each thing, of all of Docker's, whoever it belongs to."""
    return frozenset(
        [*footprint(), *_objects(), *_processes(), *_control_groups(), *_mounts(), *_network(), *_rules(), *_files()]
    )


def _objects() -> Iterator[str]:
    for kind, *command in (
        ("container", "ps", "--all", "--quiet", "--no-trunc"),
        ("volume", "volume", "ls", "--quiet"),
        ("network", "network", "ls", "--quiet", "--no-trunc"),
    ):
        yield from (f"{kind} {name}" for name in docker(*command).split())


def _processes() -> Iterator[str]:
    """Those of containers and their shims, of kind, and whatever docker command still waits for an answer."""
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked
            program = (directory / "cmdline").read_bytes().decode(errors="replace").split("\0")[0].rpartition("/")[2]
            known = program in ("kind", "docker", "docker-proxy") or program.startswith("containerd-shim")
            if program and (known or _CONTAINER.search((directory / "cgroup").read_text())):
                yield f"process {directory.name} {program}"


def _control_groups() -> Iterator[str]:
    for place, groups, _ in os.walk("/sys/fs/cgroup"):  # which passes over what goes meanwhile
        yield from (f"control group {place}/{name}" for name in groups if _CONTAINER.search(name))


def _mounts() -> Iterator[str]:
    yield from (f"mount {mount.point} {mount.kind}" for mount in mounts())


def _network() -> Iterator[str]:
    yield from (f"interface {interface.name}" for interface in Path("/sys/class/net").iterdir())


def _rules() -> Iterator[str]:
    for program in ("iptables-save", "ip6tables-save"):
        with suppress(ClusterError):  # without the program, nothing has made rules with it
            listed = subprocess.run([tool(program)], capture_output=True, text=True, timeout=_SECONDS, check=False)
            yield from (f"{program}: {line}" for line in listed.stdout.splitlines() if line.startswith("-"))


def _files() -> Iterator[str]:
    """What Python's libraries and kind call temporary."""
    for pattern in ("tmp*", "pykube-*", ".pytest-kind"):
        yield from (f"file {path}" for path in Path("/tmp").glob(pattern))
