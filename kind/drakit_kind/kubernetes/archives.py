"""Taking single programs out of a tar archive that was downloaded, and nothing else."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from drakit_kind.cluster import ClusterError

_MOST_BYTES = 1 << 30


def take(archive: Path, programs: Mapping[str, str], into: Path) -> None:
    """Write each program, by its path in the archive, to a file of its name in the directory ``into``.

    Only contents are taken: no name, owner, mode or link of the archive becomes one of this machine. Raises
    ``ClusterError`` for what is no tar archive, for one with a path that leads out of it, and for a program that is
    missing, a link, or larger than a GiB.
    """
    wanted = {path: name for name, path in programs.items()}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                path = _checked_path(archive, member)
                if (name := wanted.pop(path, None)) is not None:
                    _copy(tar, member, archive, into / name)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ClusterError(f"{archive.name} cannot be unpacked: {error}") from error
    if wanted:
        raise ClusterError(f"{archive.name} has no {', '.join(wanted)}")


def _checked_path(archive: Path, member: tarfile.TarInfo) -> str:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise ClusterError(f"{archive.name} has the path {member.name!r}, which leads out of it; nothing of it is used")
    return str(path)


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: Path, target: Path) -> None:
    source = tar.extractfile(member) if member.isreg() else None
    if source is None:
        raise ClusterError(f"{archive.name}: {member.name} is no regular file; nothing of it is used")
    if member.size > _MOST_BYTES:
        raise ClusterError(f"{archive.name}: {member.name} has more than {_MOST_BYTES >> 20} MiB")
    with source, target.open("xb") as file:
        shutil.copyfileobj(source, file)
