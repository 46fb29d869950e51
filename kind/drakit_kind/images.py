"""Container images where no registry can be reached: docker archives, written around files of this machine.

A docker archive is the one form that ``docker load``, ``ctr images import`` and ``kind build node-image`` all take.
What is written depends on the contents alone, never on a time or an owner, so that the same files give the same image,
and a layer that several images share is stored once on a node.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import msgspec

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.manifests import IMAGE
from drakit_kind.kubernetes.cache import host_platform

# What kind's nodes and containerd 2.4 are configured with; any name would do that both sides agree on.
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

_NAME = re.compile(r"(?P<repository>[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?):(?P<tag>[\w][\w.-]{0,127})")
_EPOCH = "1970-01-01T00:00:00Z"
_PAUSE_USER = "65535:65535"
_LIST_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One path of a layer: a file with these contents, a symbolic link, or (with neither) a directory.

    ``contents`` is a file of this machine, read when the layer is written, or the bytes themselves.
    """

    path: str
    contents: Path | bytes | None = None
    link: str | None = None
    mode: int = 0o755


# A layer is its entries, or a finished uncompressed tar file. Directories above an entry are made with mode 0755.
Layer = Sequence[Entry] | Path


@dataclass(frozen=True)
class Image:
    """One image: its names (``repository:tag``), its layers (at least one), and how its containers start."""

    names: Sequence[str]
    layers: Sequence[Layer]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    working_directory: str = ""
    stop_signal: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def write_images(file: Path, images: Sequence[Image]) -> list[str]:
    """Write images to one archive, all of it or nothing.

    Returns their IDs (``sha256:...``), which ``docker inspect`` shows as ``Id`` after loading them. Raises
    ``ClusterError`` for a name that is none.
    """
    tags: dict[str, dict[str, str]] = {}
    configs: dict[str, bytes] = {}
    manifest: list[dict[str, Any]] = []
    with ExitStack() as stack:
        layers: dict[str, IO[bytes]] = {}
        for image in images:
            repositories = [_split(name) for name in image.names]
            opened = [stack.enter_context(_open_layer(layer, file.parent)) for layer in image.layers]
            digests = [_digest(stream) for stream in opened]
            config = _config(image, digests)
            identity = hashlib.sha256(config).hexdigest()
            configs[f"{identity}.json"] = config
            paths = [f"{digest}/layer.tar" for digest in digests]
            layers |= zip(paths, opened, strict=True)
            manifest.append({"Config": f"{identity}.json", "RepoTags": list(image.names), "Layers": paths})
            for repository, tag in repositories:
                tags.setdefault(repository, {})[tag] = digests[-1]
        # kind takes the names from whichever of these two comes first, and of a manifest it reads one image only.
        _write(file, {"repositories": _json(tags), **configs, "manifest.json": _json(manifest)}, layers)
    return [f"sha256:{entry['Config'].removesuffix('.json')}" for entry in manifest]


def _config(image: Image, digests: Sequence[str]) -> bytes:
    settings = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "Env": [f"{name}={value}" for name, value in image.env.items()],
        "User": image.user,
        "WorkingDir": image.working_directory,
        "StopSignal": image.stop_signal,
        "Labels": dict(image.labels),
    }
    return _json(
        {
            "architecture": host_platform()[1],
            "os": "linux",
            "created": _EPOCH,
            "config": {name: value for name, value in settings.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        }
    )


def busybox_archive(file: Path, binary: Path, *, name: str = IMAGE) -> str:
    """Write the image that stories run (a static busybox with a shell as command), and return its ID."""
    image = Image([name], [busybox_entries(binary)], command=["sh"], env={"PATH": "/bin"})
    return write_images(file, [image])[0]


def busybox_entries(binary: Path) -> list[Entry]:
    """List the files of a busybox layer: applets in /bin, and /tmp; raise ``ClusterError`` if it is no busybox."""
    try:
        listed = subprocess.run([str(binary), "--list"], capture_output=True, timeout=_LIST_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ClusterError(
            f"busybox {binary} does not list its applets: {error}; install Debian's busybox-static"
        ) from error
    applets = sorted({name for name in listed.stdout.decode().split() if "/" not in name} - {"busybox"})
    entries = [Entry(path="bin/busybox", contents=binary), Entry(path="tmp", mode=0o1777)]
    return entries + [Entry(path=f"bin/{applet}", link="busybox") for applet in applets]


def pause_archive(file: Path, binary: Path, *, name: str = PAUSE_IMAGE) -> str:
    """Write the image of pod sandboxes, whose only program waits for ever, and return its ID."""
    entries = [Entry(path="pause", contents=binary)]
    return write_images(file, [Image([name], [entries], entrypoint=["/pause"], user=_PAUSE_USER)])[0]


def write_layer(stream: IO[bytes], entries: Iterable[Entry]) -> None:
    """Write an uncompressed tar of the entries and all directories above them, sorted by path."""
    by_path = {_inside(entry.path): entry for entry in entries}
    for path in list(by_path):
        for above in PurePosixPath(path).parents:
            if str(above) != ".":
                by_path.setdefault(str(above), Entry(path=str(above)))
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(by_path, key=lambda path: PurePosixPath(path).parts):
            _add(tar, path, by_path[path])


def _add(tar: tarfile.TarFile, path: str, entry: Entry) -> None:
    info = tarfile.TarInfo(path)  # owner root, and no time
    info.mode = entry.mode
    if entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
        tar.addfile(info)
    elif entry.contents is None:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif isinstance(entry.contents, bytes):
        info.size = len(entry.contents)
        tar.addfile(info, io.BytesIO(entry.contents))
    else:
        with entry.contents.open("rb") as source:
            info.size = entry.contents.stat().st_size
            tar.addfile(info, source)


def _inside(path: str) -> str:
    relative = PurePosixPath(path.removeprefix("/"))
    if not relative.parts or ".." in relative.parts or relative.is_absolute():
        raise ClusterError(f"{path!r} is no path inside of an image")
    return str(relative)


@contextmanager
def _open_layer(layer: Layer, scratch: Path) -> Iterator[IO[bytes]]:
    """Open a layer as a tar file, perhaps of hundreds of megabytes; in ``scratch``, as /tmp may be memory."""
    if isinstance(layer, Path):
        with layer.open("rb") as stream:
            yield stream
    else:
        with tempfile.TemporaryFile(dir=scratch) as stream:
            write_layer(stream, layer)
            yield stream


def _digest(stream: IO[bytes]) -> str:
    stream.seek(0)
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # any binary stream will do


def _write(file: Path, documents: Mapping[str, bytes], layers: Mapping[str, IO[bytes]]) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # of this run alone
    scratch = Path(name)
    try:
        with (
            os.fdopen(descriptor, "wb") as output,
            tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for name, text in documents.items():
                _add_stream(tar, name, io.BytesIO(text))
            for name, stream in layers.items():
                _add_stream(tar, name, stream)
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)


def _add_stream(tar: tarfile.TarFile, name: str, stream: IO[bytes]) -> None:
    info = tarfile.TarInfo(name)
    info.size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    tar.addfile(info, stream)


def _split(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ClusterError(f"image name {name!r} must be like repository:tag, with a tag")
    return match["repository"], match["tag"]


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
