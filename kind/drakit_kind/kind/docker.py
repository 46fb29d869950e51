"""The docker command, each call bounded and each failure one readable line.

kind itself works through the same command, so whatever daemon that reaches (a local one, $DOCKER_HOST, a context) is
the one that matters; a library with an opinion of its own could reach another.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from drakit_kind.cluster import ClusterError
from drakit_kind.processes.command_output import output

_CALL_SECONDS = 60.0
_LOAD_SECONDS = 300.0
# pkg/cluster/internal/providers/docker of kind.
_CLUSTER_LABEL = "io.x-k8s.kind.cluster"
# The error of older and of newer versions of docker, in lower case.
_NOBODY_THERE = ("cannot connect to the docker daemon", "failed to connect to the docker api")


def docker(*arguments: str, timeout: float = _CALL_SECONDS, stdin: IO[bytes] | bytes | None = None) -> str:
    """Run one docker command and return what it prints; see ``output``."""
    return output(["docker", *arguments], timeout=timeout, stdin=stdin)


def check_daemon() -> None:
    """Raise ``ClusterError`` with the way out if no daemon answers."""
    try:
        docker("version", "--format", "{{.Server.Version}}")
    except ClusterError as error:
        raise ClusterError(f"no Docker daemon answers ({error}); {_way_out(str(error).lower())}") from None


def _way_out(said: str) -> str:
    if shutil.which("docker") is None:
        return "on Debian with `apt-get install docker.io`, or in a source tree, as root, with `.ci/docker start`"
    if "permission denied" in said:
        return "run this as root, or as a user who may use Docker: `usermod --append --groups docker USER`, as root"
    if any(words in said for words in _NOBODY_THERE):
        return "start one (in a source tree on Debian, as root: `.ci/docker start`)"
    return "`docker context ls` shows which one is asked"


def image_labels(name: str) -> Mapping[str, str] | None:
    """Return the labels of an image; None if the daemon does not have the image."""
    import msgspec

    try:
        text = docker("image", "inspect", "--format", "{{json .Config.Labels}}", name)
    except ClusterError as error:
        if "No such image" in str(error):
            return None
        raise
    return msgspec.json.decode(text, type=dict[str, str] | None) or {}


def load(archive: Path) -> None:
    """Give an archive of ``drakit_kind.images`` to the daemon."""
    docker("load", "--quiet", "--input", str(archive), timeout=_LOAD_SECONDS)


def remove_containers(*filters: str) -> bool:
    """Remove the containers, running or not, that match all these filters of ``docker ps``; whether there were any."""
    arguments = [word for each in filters for word in ("--filter", each)]
    found = docker("ps", "--all", "--quiet", *arguments).split()
    if found:
        docker("rm", "--force", "--volumes", *found)
    return bool(found)


def exec_in(
    container: str, *command: str, timeout: float = _CALL_SECONDS, stdin: IO[bytes] | bytes | None = None
) -> str:
    """Run a command in a container (a node) and return what it prints."""
    interactive = [] if stdin is None else ["--interactive"]
    return docker("exec", *interactive, container, *command, timeout=timeout, stdin=stdin)


def cluster_containers(cluster: str) -> list[str]:
    """List the containers of a kind cluster's nodes by name, running or not."""
    return docker("ps", "--all", "--filter", f"label={_CLUSTER_LABEL}={cluster}", "--format", "{{.Names}}").split()


def remove_nodes(cluster: str) -> bool:
    """Remove a kind cluster's nodes with all that is in them; whether there were any."""
    return remove_containers(f"label={_CLUSTER_LABEL}={cluster}")
