"""Where the plugin's sockets are, and the lock that lets one instance alone use them.

Layout as in k8s.io/dynamic-resource-allocation/kubeletplugin/draplugin.go: ``<kubelet-dir>/plugins_registry/
<driver>-reg.sock``, and a directory ``<kubelet-dir>/plugins/<driver>/`` with ``dra.sock`` and the driver's own files.
The kubelet owns the first directory; the second is private.
"""

from __future__ import annotations

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from drakit_api import formats
from drakit_client.files import regular_files

# sockaddr_un.sun_path holds 108 bytes, the last of which is NUL.
_PATH_BYTES = 107
_DRIVER_LENGTH = 63
HEALTH_SOCKET = "health.sock"


class PluginError(Exception):
    """The plugin cannot start; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class PluginPaths:
    """Directories and sockets of one driver below one kubelet directory."""

    kubelet_dir: Path
    driver: str

    def __post_init__(self) -> None:
        if len(self.driver) > _DRIVER_LENGTH or formats.dns_subdomain(self.driver):
            raise PluginError(
                f"driver name {self.driver!r} must be a DNS subdomain of at most {_DRIVER_LENGTH} characters"
            )
        for path in (self.registration_socket, self.dra_socket):
            length = len(os.fsencode(path))
            if length > _PATH_BYTES:
                raise PluginError(
                    f"socket path {path} has {length} bytes, unix sockets allow {_PATH_BYTES}: "
                    "use a shorter kubelet directory or driver name"
                )

    @property
    def registry_dir(self) -> Path:
        """Watched by the kubelet."""
        return self.kubelet_dir / "plugins_registry"

    @property
    def data_dir(self) -> Path:
        """The driver's own directory."""
        return self.kubelet_dir / "plugins" / self.driver

    @property
    def registration_socket(self) -> Path:
        """Where the kubelet asks who this is."""
        return self.registry_dir / f"{self.driver}-reg.sock"

    @property
    def dra_socket(self) -> Path:
        """Where the kubelet asks for prepare, unprepare and health."""
        return self.data_dir / "dra.sock"

    @property
    def health_socket(self) -> Path:
        """Where commands and tests ask for health, and set it; shorter than the registration socket."""
        return self.data_dir / HEALTH_SOCKET

    def make_directories(self) -> None:
        """Create what is missing, private to the user; directories that exist keep their owner's modes."""
        try:
            for directory in (self.registry_dir, self.data_dir.parent, self.data_dir):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.data_dir.chmod(0o700)
        except OSError as error:
            raise PluginError(f"cannot create {error.filename}: {error.strerror}") from error


class InstanceLock:
    """Held by the one plugin instance of a driver on a node; the kernel frees it however the process ends."""

    def __init__(self, paths: PluginPaths) -> None:
        self._paths = paths
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock or raise ``PluginError``; never waits."""
        path = self._paths.data_dir / "instance.lock"
        try:
            descriptor = regular_files.open_lock(path)
        except OSError as error:
            raise PluginError(f"cannot lock: {error}; remove what is there") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise PluginError(
                f"driver {self._paths.driver} is already running in {self._paths.kubelet_dir} "
                f"(process {holder or 'unknown'}); stop it first, or choose another --driver-name"
            ) from error
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Free the lock. The file stays: removing it would let two waiters hold two files of one name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def remove_stale_socket(path: Path) -> None:
    """Remove a socket that a killed instance left; call with the lock held. Refuses anything but a socket."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise PluginError(f"{path} exists and is not a socket; remove it")
    path.unlink()
