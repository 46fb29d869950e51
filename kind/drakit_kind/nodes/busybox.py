"""Finding the one program that the containers of tests run: a busybox that is linked statically.

A container has nothing but its image, and the image is made here, so the program must not need libraries.
"""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cluster import ClusterError, Report, silent
from drakit_kind.processes.command_output import output
from drakit_kind.processes.turns import one_at_a_time, scratch_directory

VARIABLE = "DRAKIT_BUSYBOX"
_PACKAGE = "busybox-static"
_STEP_SECONDS = 120.0  # to download the package, and to unpack it
_PT_INTERP = 3  # elf.h: the program header that names a dynamic loader


def find_busybox(report: Report = silent) -> Path:
    """Find a static busybox: ``$DRAKIT_BUSYBOX``, one in PATH, else Debian's, downloaded once into drakit's cache.

    Raises ``ClusterError`` that says how to get one.
    """
    return _there() or _downloaded(report)


def obstacle() -> str:
    """Say why there can be none; "" if there is one or it can be downloaded, which is not tried here."""
    try:
        if _there() is None:
            _debian_tools()
    except ClusterError as error:
        return str(error)
    return ""


def _there() -> Path | None:
    if named := os.environ.get(VARIABLE):
        path = Path(named).absolute()
        if not is_static(path):
            raise ClusterError(f"{VARIABLE}={path} is no statically linked program of this machine")
        return path
    in_path = shutil.which("busybox")
    if in_path is not None and is_static(Path(in_path)):
        return Path(in_path)
    cached = _cached()
    return cached if cached.exists() else None


def _cached() -> Path:
    return cache_directory() / "busybox"


def _downloaded(report: Report) -> Path:
    cached = _cached()
    with one_at_a_time(cached.with_suffix(".lock"), report):
        if not cached.exists():
            _download(cached, report)
    return cached


def is_static(path: Path) -> bool:
    """Whether a file is an ELF program (64 bit, little endian) that needs no dynamic loader."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
            if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
                return False
            (offset,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(offset)
            table = file.read(size * count)
    except OSError:
        return False
    kinds = [struct.unpack_from("<I", table, index * size)[0] for index in range(count)]
    return _PT_INTERP not in kinds


def _debian_tools() -> tuple[str, str]:
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        raise ClusterError(_remedy("there is none in PATH"))
    return apt, dpkg


def _download(target: Path, report: Report) -> None:
    apt, dpkg = _debian_tools()
    report(f"downloading {_PACKAGE} of this Debian for the containers of tests")
    with scratch_directory(target.parent, ".busybox-") as directory:
        directory.chmod(0o755)
        try:
            # Else apt, run by root, would download as its user _apt, which cannot write here.
            download = [apt, "download", "-o", "APT::Sandbox::User=root", _PACKAGE]
            output(download, timeout=_STEP_SECONDS, directory=directory)
            for archive in directory.glob("*.deb"):
                output([dpkg, "-x", str(archive), "unpacked"], timeout=_STEP_SECONDS, directory=directory)
        except ClusterError as error:
            raise ClusterError(_remedy(str(error))) from None
        found = [path for path in directory.glob("unpacked/**/busybox") if is_static(path)]
        if not found:
            raise ClusterError(_remedy(f"{_PACKAGE} does not contain one"))
        found[0].replace(target)


def _remedy(problem: str) -> str:
    return (
        f"containers need a statically linked busybox: {problem}; install Debian's {_PACKAGE}, "
        f"or name such a program in ${VARIABLE}"
    )
