"""Where a cluster keeps its files, and how another process finds out whether it is alive.

A process id alone does not tell: it may be another program's by now. The cluster's process holds a lock on a file in
its directory for as long as it lives, so the kernel answers that question, also after a crash, and with the process id.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from drakit_client.files import private_files, regular_files
from drakit_kind.cluster import ClusterError, ClusterSpec, checked_name
from drakit_kind.clusters import short_paths, temporary

# The longest path is that of a driver's registration socket: two instances of one that is updated, with a name of 34
# characters (RollingUpdateRegistrarSocketFile in k8s.io/dynamic-resource-allocation/kubeletplugin).
_NODE_SOCKET = "/n/{}/plugins_registry/" + "d" * 34 + "-" + "u" * 11 + "-reg.sock"
# The cluster is refused if not even this path fits.
_SHORT_NODE_SOCKET = "/n/{}/plugins_registry/gpu.nvidia.com-reg.sock"
_OWN_SOCKET = "/control.sock"
# In the environment of all that a cluster's process starts: the cluster's directory. It tells whose they are.
CLUSTER_VARIABLE = "DRAKIT_CLUSTER_DIRECTORY"
# struct flock of fcntl(2): kind, whence, start, length, process.
_RECORD_LOCK = struct.Struct("hhqqi0q")
_STARTING = "starting"
_LOCK = "lock"
_NEVER_READY = "never-ready"


def base_directory() -> Path:
    """Return ``$DRAKIT_HOME``, else ``~/.drakit``, which is short because the paths of unix sockets are bounded."""
    home = os.environ.get("DRAKIT_HOME")
    return Path(home) if home else Path.home() / ".drakit"


def named_homes() -> list[ClusterHome]:
    """Return the homes of all clusters in ``$DRAKIT_HOME``, by name; those of tests and of demos have no name."""
    try:
        names = sorted(path.name for path in base_directory().iterdir() if path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [home for name in names if (home := ClusterHome(base_directory() / name)).spec_file.exists()]


@dataclass(frozen=True)
class ClusterHome:
    """The directory of one cluster: 0700, because it holds the token."""

    directory: Path

    def __post_init__(self) -> None:
        # Its programs, and the commands that look for it, run in other directories than the one that names it.
        object.__setattr__(self, "directory", self.directory.absolute())

    @classmethod
    def of(cls, name: str) -> ClusterHome:
        """Return the home of a named cluster, whether it exists or not."""
        return cls(base_directory() / checked_name(name))

    @classmethod
    def temporary(cls, *, guarded: bool = False) -> ClusterHome:
        """Make a home that no other run looks for: a hidden name in ``$DRAKIT_HOME``, else a directory in /tmp.

        It is not in $TMPDIR, which is too long for unix sockets on some systems. It is removed when this process ends,
        unless another process, which needs its files, will remove it (``guarded``).
        """
        parent, prefix = Path("/tmp"), "drakit-"  # noqa: S108  # a private directory, of a name that nobody can guess
        if os.environ.get("DRAKIT_HOME"):
            parent, prefix = base_directory(), ".drakit-"
            parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(Path(tempfile.mkdtemp(prefix=prefix, dir=parent)) if guarded else temporary.make(parent, prefix))

    @property
    def option(self) -> str:
        """The option by which commands find it: "" for the default one, else e.g. `` --name red``."""
        if self.directory.parent != base_directory().absolute():
            return f" --data-dir {self.directory}"
        return "" if self.directory.name == "default" else f" --name {self.directory.name}"

    @property
    def spec_file(self) -> Path:
        """What was asked for, with the token and port that were chosen."""
        return self.directory / "cluster.json"

    @property
    def never_ready(self) -> Path:
        """It is there from the first start of a cluster here until one is ready."""
        return self.directory / _NEVER_READY

    @property
    def was_ready(self) -> bool:
        """Whether there is a cluster that was ready once: only such a one is continued."""
        return self.spec_file.exists() and not self.never_ready.exists()

    def made_at(self) -> float:
        """Return when the first cluster here was started, in seconds of the epoch; raises ``FileNotFoundError``."""
        made = self.directory / _LOCK
        return (made if made.exists() else self.spec_file).stat().st_mtime

    @property
    def kubeconfig(self) -> Path:
        """The cluster's own kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        """What all components of the process print."""
        return self.directory / "drakit.log"

    @property
    def logs(self) -> Path:
        """One file for each real component."""
        return self.directory / "logs"

    def component_log(self, name: str) -> Path:
        """Return the log file of one real component, e.g. ``kube-apiserver``."""
        return self.logs / f"{name}.log"

    @property
    def endings(self) -> Path:
        """Which components have ended by themselves in this run of the cluster, and why."""
        return self.directory / "endings.jsonl"

    @property
    def pki(self) -> Path:
        """Keys and certificates of real components."""
        return self.directory / "pki"

    @property
    def store(self) -> Path:
        """The SQLite file with all objects."""
        return self.directory / "store.sqlite"

    @property
    def nodes(self) -> Path:
        """One kubelet directory for each node; a short name, because sockets lie below it."""
        return self._short / "n"

    @property
    def api(self) -> Path:
        """The unix socket through which the components of the cluster's process reach the API server."""
        return self._short / "api.sock"

    @property
    def control(self) -> Path:
        """The unix socket on which components are restarted."""
        return self._short / "control.sock"

    @property
    def _short(self) -> Path:
        """The directory, by the short name that it has where its own is too long for sockets."""
        return short_paths.of(self.directory) or self.directory

    def make(self, nodes: Sequence[str] = (), *, mounts: bool = False) -> None:
        """Create the directory, private to the user, of a cluster with these nodes.

        Where its path is too long for sockets, it gets a short name, unless real kubelets mount things below it
        (``mounts``). Raises ``ClusterError`` where sockets would not fit even so, and for an existing directory, unless
        it is empty or that of an earlier run, and private to this user already.
        """
        own = len(os.fsencode(self.directory))
        shortened = not mounts and own + _longest(_NODE_SOCKET, nodes) > short_paths.SOCKET_BYTES
        longest = (short_paths.length() if shortened else own) + _longest(_SHORT_NODE_SOCKET, nodes)
        if (excess := longest - short_paths.SOCKET_BYTES) > 0:
            way_out = "set DRAKIT_HOME, or --data-dir, to a shorter one, or give nodes shorter names"
            raise ClusterError(
                f"{self.directory}: this path is {excess} bytes too long for the unix sockets below it; "
                + ("give nodes shorter names" if shortened else way_out)
            )
        try:
            self.directory.mkdir(parents=True, mode=0o700)
        except FileExistsError:
            self._check_own()
        if shortened:
            short_paths.make(self.directory)

    def _check_own(self) -> None:
        about = self.directory.stat()
        if about.st_uid != os.geteuid():
            raise ClusterError(
                f"{self.directory}: it belongs to another user (uid {about.st_uid}), and a cluster's directory holds "
                "secrets; name one of your own, or one that does not exist yet"
            )
        if about.st_mode & 0o077:
            raise ClusterError(
                f"{self.directory}: others than its owner may look into it, and a cluster's directory holds secrets; "
                "`chmod 700` it, or name a directory that does not exist yet"
            )
        files = sorted(path.name for path in self.directory.iterdir() if path.name not in (_STARTING, _NEVER_READY))
        if files and self.spec_file.name not in files:
            raise ClusterError(
                f"{self.directory}: there is something else in it ({', '.join(files[:3])}); name a directory that is "
                "empty or does not exist yet"
            )

    def write_spec(self, spec: ClusterSpec) -> None:
        """Remember the spec for ``status``, ``down`` and the next ``up``."""
        private_files.write(self.spec_file, msgspec.json.encode(spec))

    def read_spec(self) -> ClusterSpec | None:
        """Read the spec that was written last; None if there is none."""
        try:
            return msgspec.json.decode(regular_files.read(self.spec_file), type=ClusterSpec)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ClusterError(f"{self.spec_file} is damaged ({error}); remove {self.directory}") from error

    def remember_export(self, kubeconfig: Path) -> None:
        """Note a kubeconfig that this cluster was added to, so that ``down`` can take it out again."""
        paths = {*self.exported_to(), kubeconfig.absolute()}
        private_files.write(self.directory / "exported-to", "".join(f"{path}\n" for path in sorted(paths)))

    def exported_to(self) -> list[Path]:
        """List the kubeconfig files that this cluster was added to."""
        try:
            lines = regular_files.read(self.directory / "exported-to").decode().splitlines()
        except FileNotFoundError:
            return []
        return [Path(line) for line in lines]

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Be the only process that starts or removes a cluster here; ``ClusterError`` if another one is about to."""
        busy = ClusterError(
            f"{self.directory}: another process is just starting this cluster, or removing it; try again when it is "
            "done"
        )
        path = self.directory / _STARTING
        with private_files.append_to(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise busy from None
            # A process that removes the directory holds this lock: the file that was locked here may be deleted by now.
            if not path.exists() or not os.path.samestat(path.stat(), os.fstat(file.fileno())):
                raise busy
            yield

    def remove(self) -> None:
        """Remove the directory; to be called in ``starting``, so that nobody starts a cluster in it meanwhile.

        The spec goes late, so that what is left when this is interrupted can still be removed, and the lock last.
        """
        kept = {self.spec_file: 1, self.directory / _STARTING: 2}
        short_paths.remove(self.directory)
        for path in sorted(self.directory.iterdir(), key=lambda each: kept.get(each, 0)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        with suppress(OSError):  # somebody has just begun to start a new one
            self.directory.rmdir()

    def lock(self) -> IO[bytes] | None:
        """Take the lock that means `this cluster is running`; None if another process has it.

        The lock goes with the returned file: close it, or die. It also goes when this process closes another file that
        it has opened at the same path (fcntl(2)), so only others may ask for ``running_pid``.
        """
        file = private_files.append_to(self.directory / _LOCK)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    def running_pid(self) -> int | None:
        """Ask the kernel which other process holds the lock; None if none does."""
        asked = _RECORD_LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        try:
            descriptor = regular_files.open_descriptor(self.directory / _LOCK, os.O_RDONLY)
            with os.fdopen(descriptor) as file:
                kind, *_, pid = _RECORD_LOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if kind == fcntl.F_UNLCK else pid


def _longest(node_socket: str, nodes: Sequence[str]) -> int:
    """Bytes of the longest socket path below a cluster's directory."""
    return max([len(_OWN_SOCKET), *(len(node_socket.format(node)) for node in nodes)])
