"""A mount namespace for each node, so that what it mounts is never the machine's, and is gone when the node is.

containerd, libcni and the kubelet each have a few directories that no option moves. A node's namespace has directories
of the node's own mounted over them, so several nodes, and a real node that the machine may be already, do not meet
there. The same hides the kernel settings that a kubelet changes: it reads and writes a copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.nodes.tools import run, tool

# Sockets and state of containerd's shims, libcni's cache, the kubelet's device plugins and its links to logs.
_COVERS = {
    Path("/run/containerd"): "run-containerd",
    Path("/var/lib/cni"): "cni",
    Path("/var/lib/kubelet"): "kubelet",
    Path("/var/log/containers"): "log-links",
}
# Where a driver that runs in a pod looks for its kubelet, and where it writes CDI specs.
_PLUGINS = ("plugins", "plugins_registry")
_CDI = Path("/run/cdi")
COVERED = (*_COVERS, _CDI)
# The settings that a kubelet makes: setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go.
SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_SYSCTL = Path("/proc/sys")


class MountNamespace:
    """The mounts of one node; they exist as long as this is open or a process of the node lives.

    ``root`` is the root directory of its kubelet; ``directory`` takes what is mounted over the machine's directories
    and settings.
    """

    def __init__(self, root: Path, directory: Path) -> None:
        self._root = root
        self._directory = directory
        self._descriptor: int | None = None

    def open(self) -> None:
        """Make it; ``ClusterError`` if that fails. It sees later mounts of the machine, which sees none of it."""
        command = [tool("unshare"), "--mount", "--propagation", "slave", "--", tool("cat")]
        # `cat` answers once it is in the namespace, and stays until somebody else holds it.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
            assert first.stdin is not None
            assert first.stdout is not None
            assert first.stderr is not None
            try:
                first.stdin.write(b"\n")
                first.stdin.flush()
                entered = first.stdout.readline()
            except BrokenPipeError:
                entered = b""
            if not entered:
                raise ClusterError(f"no mount namespace: {first.stderr.read().decode(errors='replace').strip()}")
            self._descriptor = os.open(f"/proc/{first.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            first.stdin.close()
        # Volumes that pods share among themselves (Bidirectional) need a shared mount to begin with.
        self._mount("--make-rshared", "/")
        self._cover()

    def _cover(self) -> None:
        for covered, name in _COVERS.items():
            source = self._directory / name
            shutil.rmtree(source, ignore_errors=True)  # of an earlier run, whose processes are gone
            source.mkdir(parents=True, mode=0o700)
            self._mount("--bind", str(source), str(covered))
        for name in _PLUGINS:
            (self._root / name).mkdir(exist_ok=True)
            (self._directory / "kubelet" / name).mkdir()
            self._mount("--bind", str(self._root / name), f"/var/lib/kubelet/{name}")
        (self._root / "cdi").mkdir(exist_ok=True)
        self._mount("--bind", str(self._root / "cdi"), str(_CDI))
        for setting in SETTINGS:
            real, copy = _SYSCTL / setting, self._directory / "sysctl" / setting.replace("/", ".")
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(real.read_text())
            self._mount("--bind", str(copy), str(real))

    def close(self) -> None:
        """Let it go; the kernel removes it with its last process."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs ``command`` in this namespace: in the same process, without shell or child."""
        if self._descriptor is None:
            raise ClusterError("this mount namespace is not open")
        return [tool("nsenter"), f"--mount=/proc/{os.getpid()}/fd/{self._descriptor}", "--", *command]

    def _mount(self, *arguments: str) -> None:
        run(*self.command([tool("mount"), *arguments]))
