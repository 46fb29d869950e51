"""The nodes of one kind cluster, which are containers: commands, files, images and logs in them."""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import yaml

from drakit_api.kubernetes_objects import Object
from drakit_kind.cluster import ClusterError
from drakit_kind.kind.docker import docker, exec_in

_IMPORT_SECONDS = 300.0
_COPY_SECONDS = 60.0
# What the container runtime writes in front of each line: time, stream, and whether the line is full or a part.
_LOG_PREFIX = re.compile(r"^\S+ std(out|err) [FP] ", re.MULTILINE)
_CTR = ("ctr", "--namespace", "k8s.io")
# Not in /tmp: that is a tmpfs of the node, which `docker cp` does not see.
_IMAGE_FILE = "/kind/drakit-image.tar"
# Every node image has one, and the control plane the rights for it.
_KUBECTL = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")


class Nodes:
    """``names`` are the workers as Kubernetes knows them, in the order of kind's configuration."""

    def __init__(self, cluster: str, names: Sequence[str]) -> None:
        self.control_plane = f"{cluster}-control-plane"
        # kind numbers workers from the second on.
        self._workers = {
            name: f"{cluster}-worker{number if number > 1 else ''}" for number, name in enumerate(names, start=1)
        }

    @property
    def workers(self) -> list[str]:
        """The containers of all workers."""
        return list(self._workers.values())

    @property
    def for_pods(self) -> list[str]:
        """The containers in which pods run: of the workers, or of the only node."""
        return self.workers or [self.control_plane]

    def container(self, node: str) -> str:
        """Return a worker's container, given the node's name; raise ``ClusterError`` if there is no such node."""
        try:
            return self._workers[node]
        except KeyError:
            raise ClusterError(f"no node {node}; this cluster has {', '.join(self._workers)}") from None

    def load(self, archive: Path, containers: Iterable[str]) -> None:
        """Give a docker archive to the container runtime of nodes, all at once."""

        def one(container: str) -> None:
            with archive.open("rb") as stream:
                exec_in(container, *_CTR, "images", "import", "-", stdin=stream, timeout=_IMPORT_SECONDS)

        in_parallel(one, containers)

    def copy_image(self, name: str, source: str, targets: Iterable[str], *, scratch: Path) -> None:
        """Give an image of one node's container runtime to others.

        By way of a file, as the end of what a command prints can get lost in `docker exec`. It is in ``scratch``, which
        has to go however this process ends.
        """
        exec_in(source, *_CTR, "images", "export", _IMAGE_FILE, name, timeout=_IMPORT_SECONDS)
        with tempfile.TemporaryDirectory(prefix="image-", dir=scratch) as directory:
            archive = Path(directory) / "image.tar"
            docker("cp", f"{source}:{_IMAGE_FILE}", str(archive), timeout=_COPY_SECONDS)
            self.run(source, "rm", _IMAGE_FILE)
            self.load(archive, targets)

    def run(self, container: str, *command: str) -> str:
        """Run a command in a node and return what it prints."""
        return exec_in(container, *command)

    def search(self, container: str, directory: str, *tests: str) -> str:
        """Run ``find`` in a node and return its output; ignore files that the kubelet removes meanwhile."""
        # Status 1 is for directories that are gone when they are opened, -ignore_readdir_race or not.
        return self.run(container, "sh", "-c", 'find "$@" || test $? = 1', "find", directory, *tests)

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl in the control plane, as administrator, and return what it prints."""
        return exec_in(self.control_plane, *_KUBECTL, *arguments)

    def signal_task(self, container: str, task: str, signal: str) -> None:
        """Send a signal to a running container of a node, by the id that its pod's status shows."""
        self.run(container, *_CTR, "tasks", "kill", "--signal", signal, task)

    def read(self, container: str, path: str) -> str:
        """Read a text file of a node."""
        return self.run(container, "cat", path)

    def write(self, container: str, path: str, content: bytes | Path, *, mode: int = 0o600) -> None:
        """Replace a file of a node in one step, so that whoever watches or runs it never sees half of it.

        The scratch file has a dot in front, which the kubelet's watch of static pods passes over.
        """
        target = PurePosixPath(path)
        scratch = target.with_name(f".{target.name}.new")
        data = content.read_bytes() if isinstance(content, Path) else content
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            info = tarfile.TarInfo(scratch.name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
        docker("cp", "-", f"{container}:{target.parent}", stdin=packed.getvalue(), timeout=_COPY_SECONDS)
        self.run(container, "mv", str(scratch), path)

    def read_yaml(self, container: str, path: str) -> Object:
        """Read a YAML file of a node."""
        loaded: Object = yaml.safe_load(self.read(container, path))
        return loaded

    def component_log(self, program: str, uid: str = "*") -> str:
        """Read the log of a static pod: that of one ``uid``, or also those from before a restart."""
        return self._logs(self.control_plane, f"*_{uid}/{program}/*.log")

    def pod_log(self, container: str, pod: str) -> str:
        """Read the log of a pod's containers on a node, including ended ones whose logs are kept."""
        return self._logs(container, f"*_{pod}_*/*/*.log")

    def _logs(self, container: str, pattern: str) -> str:
        found = self.search(container, "/var/log/pods", "-path", pattern, "-exec", "cat", "{}", ";")
        # Files come in the order of their directories' names. Fractions of a second have as many digits as they need.
        lines = sorted(found.splitlines(keepends=True), key=lambda line: line.partition("Z ")[0])
        return _LOG_PREFIX.sub("", "".join(lines))

    def journal(self, container: str, unit: str) -> str:
        """Read the log of a systemd unit of a node."""
        return self.run(container, "journalctl", "--unit", unit, "--no-pager", "--output", "cat")


def in_parallel(work: Callable[[str], object], containers: Iterable[str]) -> None:
    """Do the same work in several nodes at once; raise the first error when all have ended."""
    with ThreadPoolExecutor() as pool:
        for future in [pool.submit(work, container) for container in containers]:
            future.result()
