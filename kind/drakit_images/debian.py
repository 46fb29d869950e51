"""A Debian root as a tar file, and single packages of it as image layers.

Images are usually made from other images; without a registry there are none, but Debian's package archive has all that
a node, kube-proxy and Python need. debootstrap runs once: what each image takes is cut out of the same root.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cluster import ClusterError, Report
from drakit_kind.kind.node_images.kept_files import keep_only
from drakit_kind.kind.sessions import run_in_session
from drakit_kind.processes.command_output import output
from drakit_kind.processes.turns import one_at_a_time

# A root that the user has, as a tar file.
VARIABLE = "DRAKIT_DEBIAN_ROOT"
# systemd of a newer Debian refuses hosts with cgroup v1.
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
# What kind's own base image installs, as far as a DRA cluster uses it (no network file systems, no fuse), and Python
# for drakit's image. dbus: through it runc asks systemd for cgroups.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux",
    "mount", "kmod", "libseccomp2", "runc", "ca-certificates", "jq", "procps", "python3",
)  # fmt: skip

_DEBOOTSTRAP_SECONDS = 1200.0
_MOUNT_SECONDS = 30.0
_LEFT_OUT = re.compile(
    r"(dev|proc|sys|run|tmp|boot|home|media|mnt|srv)/.+"
    r"|usr/share/(doc|man|info|locale|lintian|bug)/.+"
    r"|var/(cache|log|tmp)/.+|var/lib/apt/lists/.+"
)
_DEPENDENCY = re.compile(r"[a-z0-9][a-z0-9+.-]+")
# What debootstrap says if Debian's keys are missing or too old.
_NO_KEYS = re.compile(r"^E: (Keyring-based check was requested|Release signed by unknown key)", re.MULTILINE)
_VIRTUAL_TOP = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


def given_root() -> Path | None:
    """Return the tar file that ``$DRAKIT_DEBIAN_ROOT`` names, or None; raise ``ClusterError`` if it does not exist."""
    name = os.environ.get(VARIABLE)
    if name and not Path(name).is_file():
        raise ClusterError(f"${VARIABLE} is {name}, and there is no such file")
    return Path(name).absolute() if name else None


def root_tar(cache: Path, report: Report, *, mirror: str = MIRROR) -> Path:
    """Return the tar file of a Debian root: the user's own, else one with ``PACKAGES`` in ``cache``.

    The latter is made by debootstrap the first time, which takes minutes. Raises ``ClusterError`` where it cannot be
    made. Nothing of an unfinished one stays.
    """
    if (given := given_root()) is not None:
        return given
    recipe = msgspec.json.encode([SUITE, PACKAGES, _LEFT_OUT.pattern])
    directory = cache / "debian"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = directory / f"{SUITE}-{hashlib.sha256(recipe).hexdigest()[:12]}.tar"
    with one_at_a_time(directory / "lock", report):
        if not file.exists():
            _make(file, report, mirror)
        keep_only(file, f"{SUITE}-*.tar")
    return file


def _make(file: Path, report: Report, mirror: str) -> None:
    if os.geteuid() != 0:
        raise ClusterError(
            "only root can make a Debian root with debootstrap; run this as root, or name one, as a tar file, "
            f"with ${VARIABLE}"
        )
    if shutil.which("debootstrap") is None:
        raise ClusterError(
            "there is no debootstrap to make a Debian root with; install it (Debian: `apt-get install debootstrap`), "
            f"or name a root, as a tar file, with ${VARIABLE}"
        )
    root = file.with_suffix(".root")
    scratch = file.with_suffix(".part")
    for left in file.parent.glob("*.root"):  # of one that was killed
        _remove(left)
    for left in file.parent.glob("*.part"):
        left.unlink()
    report(f"Debian {SUITE}: installing {len(PACKAGES)} packages and what they need, once, with debootstrap")
    try:
        _debootstrap(root, mirror, file.with_suffix(".log"))
        report("Debian root: packing")
        with tarfile.open(scratch, "w", format=tarfile.PAX_FORMAT) as tar:
            tar.add(root, arcname=".", filter=_kept)
        scratch.rename(file)
        file.with_suffix(".log").unlink()
    finally:
        _remove(root)
        scratch.unlink(missing_ok=True)


def _debootstrap(root: Path, mirror: str, log: Path) -> None:
    # Without Debian's keys, debootstrap would run packages that it cannot verify, as root.
    options = ["--variant=minbase", "--force-check-gpg", f"--include={','.join(PACKAGES)}"]
    command = [*_own_mounts(), "debootstrap", *options, SUITE, str(root), mirror]
    log.unlink(missing_ok=True)
    try:
        status = run_in_session(command, log, timeout=_DEBOOTSTRAP_SECONDS)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"debootstrap did not end within {_DEBOOTSTRAP_SECONDS:.0f} s; see {log}") from None
    if status:
        said = log.read_text(errors="replace")
        last = " / ".join(said.splitlines()[-3:])
        keys = "; to check packages it needs Debian's keys: `apt-get install debian-archive-keyring`"
        way_out = keys if _NO_KEYS.search(said) else ""
        raise ClusterError(f"debootstrap failed with status {status}: {last}{way_out}; all of it is in {log}")


def _own_mounts() -> list[str]:
    """Return a command prefix with which the kernel removes the command's mounts when it ends, however it ends."""
    alone = ["unshare", "--mount", "--propagation", "private"]
    try:
        output([*alone, "true"], timeout=_MOUNT_SECONDS)
    except ClusterError:  # root of a container who may not do this may not mount, either
        return []
    return alone


def _remove(root: Path) -> None:
    """Remove a root; what is mounted in one that was interrupted belongs to the machine and must not be emptied."""
    resolved = root.resolve()  # as the kernel names it
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        target = Path(line.split()[1].replace("\\040", " "))
        if target.is_relative_to(resolved):
            output(["umount", "--lazy", str(target)], timeout=_MOUNT_SECONDS)
    if root.exists():
        shutil.rmtree(root)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = member.name.removeprefix("./")
    if _LEFT_OUT.fullmatch(name) or member.ischr() or member.isblk():
        return None
    member.uname = member.gname = ""
    return member


def write_packages(stream: IO[bytes], names: Iterable[str], report: Report, *, base: Path | None) -> None:
    """Write the files of packages, with those that they depend on, as a tar.

    They are of the root ``base``, else of ``root_tar``; raises ``ClusterError`` as that does.
    """
    PackageFiles(base or root_tar(cache_directory(), report)).write_layer(stream, names)


@dataclass
class PackageFiles:
    """Single packages of a root, with all that they depend on, as layers of images."""

    root: Path
    _members: dict[str, tarfile.TarInfo] = field(default_factory=dict)

    def write_layer(self, stream: IO[bytes], packages: Iterable[str]) -> list[str]:
        """Write the files of these packages and their dependencies as a tar; returns the names of all of them."""
        with tarfile.open(self.root) as tar:
            self._members = {member.name.removeprefix("./"): member for member in tar if member.name != "."}
            chosen = _closure(self._read(tar, "var/lib/dpkg/status"), packages)
            paths = {name for name in _VIRTUAL_TOP if name in self._members}
            for package in chosen:
                paths |= self._paths_of(tar, package)
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as layer:
                for path in sorted(paths):
                    self._copy(tar, layer, path)
        return chosen

    def _read(self, tar: tarfile.TarFile, path: str) -> str:
        member = self._members.get(path)
        stream = tar.extractfile(member) if member else None
        if stream is None:
            raise ClusterError(f"{self.root} has no {path}; it is no Debian root as debootstrap makes them")
        return stream.read().decode()

    def _paths_of(self, tar: tarfile.TarFile, package: str) -> set[str]:
        lists = (f"var/lib/dpkg/info/{package}.list", *(f"var/lib/dpkg/info/{package}:{arch}.list" for arch in _ARCHES))
        found = next((name for name in lists if name in self._members), lists[0])
        paths = {self._resolved(line.lstrip("/")) for line in self._read(tar, found).splitlines() if line != "/."}
        paths |= {_compiled(path) for path in paths if path.endswith(".py")}
        return {path for path in paths if path in self._members}

    def _resolved(self, path: str) -> str:
        """Follow the links /lib and /bin to below /usr: packages still use the old paths."""
        first, _, rest = path.partition("/")
        top = self._members.get(first)
        return f"{top.linkname}/{rest}" if top and top.issym() and rest else path

    def _copy(self, tar: tarfile.TarFile, layer: tarfile.TarFile, path: str) -> None:
        member = self._members[path]
        if member.islnk():
            # The first of two names may belong to another package.
            member = self._members[member.linkname.removeprefix("./")]
        info = tarfile.TarInfo(path)
        info.mode, info.uid, info.gid, info.type = member.mode, member.uid, member.gid, member.type
        info.linkname, info.size = member.linkname, member.size
        if member.isreg():
            info.mtime = member.mtime  # the package's own; compiled Python is bound to it
        layer.addfile(info, tar.extractfile(member) if member.isreg() else None)


def _compiled(path: str) -> str:
    """Where Debian puts the compiled form of a module, which is in no package."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/__pycache__/{name.removesuffix('.py')}.{_PYTHON_TAG}.pyc"


# Python of the suite.
_PYTHON_TAG = "cpython-311"
_ARCHES = ("amd64", "arm64")
# Packages depend on what installs and configures them; an image's layer is never changed again.
_INSTALLERS = {"dpkg", "debconf", "debconf-2.0"}


def _closure(status: str, packages: Iterable[str]) -> list[str]:
    """Return these packages and all that they depend on, from dpkg's database; of alternatives the installed ones."""
    needs: dict[str, set[str]] = {}
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"\S+: ", line))
        if "Package" in fields:
            wanted = f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"
            names = (_DEPENDENCY.match(part.strip()) for part in re.split(r"[,|]", wanted))
            needs[fields["Package"]] = {name[0] for name in names if name}
    chosen: set[str] = set()
    todo = list(packages)
    while todo:
        name = todo.pop()
        if name in needs and name not in chosen:
            chosen.add(name)
            todo += needs[name] - _INSTALLERS
        elif name not in needs and name in packages:
            raise ClusterError(f"the Debian root has no package {name}; give one that has it")
    return sorted(chosen)
