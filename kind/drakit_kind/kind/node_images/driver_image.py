"""The image with driver and scheduler: the drakit that runs here, in a container.

Where a registry can be reached it is built as anybody builds it, from ``driver/Dockerfile``, or, without a source tree,
on the same base image. Elsewhere the same stands on packages of a Debian root, if drakit's source tree is here to make
one. Its Python packages come from where this machine's pip takes them.
"""

from __future__ import annotations

import compileall
import hashlib
import importlib
import os
import py_compile
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import msgspec

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cluster import ClusterError, Report
from drakit_kind.images import Entry, Image, Layer, write_images, write_layer
from drakit_kind.kind.docker import check_daemon, docker, image_labels, remove_containers
from drakit_kind.kind.node_images import image_builder
from drakit_kind.kind.node_images.build_steps import run_step
from drakit_kind.kind.node_images.kept_files import keep_only
from drakit_kind.processes.turns import one_at_a_time, scratch_directory

_REPOSITORY = "localhost/drakit"
_BASE = "python:3.11-slim"
_PYTHON = (3, 11)  # of that image, and of the Debian root
_PACKAGES = (
    "drakit",
    "drakit_api",
    "drakit_client",
    "drakit_driver",
    "drakit_allocator",
    "drakit_embedded",
    "drakit_kind",
)
# grpc and re2 are C++.
_DEBIAN_PACKAGES = ("python3", "libstdc++6")
# The same entry point as in driver/Dockerfile.
_ENTRYPOINT = ["drakit"]
_USER = "65532:65532"
_BUILD_LABEL = "drakit.build"
_STAGE_LABEL = "drakit.stage=build"  # as driver/Dockerfile has it
_LIBRARY = "opt/drakit/lib"
# A module for each of Kubernetes' kinds, which nothing of drakit loads; compiled they would be a third of the image.
_NOT_COMPILED = re.compile(r"/kubernetes/(aio/)?client/(api|models)/")
_PULL_SECONDS = 120.0
_BUILD_SECONDS = 600.0
_PIP_SECONDS = 600.0
_COPY_SECONDS = 180.0
# Wheels say for how old a C library they are; Debian 12 has 2.36.
_PLATFORMS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 37)))


def archive(report: Report, *, local: bool | None = None, base: Path | None = None) -> tuple[str, Path]:
    """Return the image's name and its docker archive, which is built if its inputs have changed.

    ``local``: build it from a Debian root instead of a registry's image; None takes an image that exists, else tries
    the registry first. ``base`` is the Debian root as a tar file, instead of that of ``drakit_images.debian.root_tar``.
    Raises ``ClusterError`` if neither is available.
    """
    if base is None and (debian := image_builder.debian()) is not None:
        base = debian.given_root()
    tag = f"{metadata.version('drakit')}-{_inputs()[:12]}"
    name = f"{_REPOSITORY}:{tag}"
    directory = cache_directory() / "kind"
    with one_at_a_time(directory / "driver-image.lock", report):
        kinds = {False: "registry", True: f"debian{_mark(base)}"}
        files = {each: directory / f"drakit-{tag}-{kind}.tar" for each, kind in kinds.items()}
        if local is None:
            local = next((each for each, made in files.items() if made.exists()), None)
        if local is None:
            local = not _has_base(report)
        file = files[local]
        if not file.exists():
            with scratch_directory(directory, "driver-image-") as scratch:
                if local:
                    _build_local(name, scratch / "image.tar", report, base)
                else:
                    _build_from_registry(name, scratch / "image.tar", report)
                (scratch / "image.tar").rename(file)
        keep_only(file, "drakit-*.tar")
    return name, file


def _mark(base: Path | None) -> str:
    """Identify the user's Debian root by path, size and time, without reading all of it."""
    if base is None:
        return ""
    status = base.stat()
    text = f"{base.absolute()}\0{status.st_size}\0{status.st_mtime_ns}"
    return f"-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _inputs() -> str:
    """Hash all that the image depends on: drakit's files, the Dockerfile, and the versions of all dependencies."""
    summary = hashlib.sha256()
    for package in _PACKAGES:
        for path, file in _files_of(package):
            summary.update(f"{path}\0".encode())
            summary.update(hashlib.sha256(file.read_bytes()).digest())
    if (source := _source_tree()) is not None:
        summary.update((source / "driver" / "Dockerfile").read_bytes())
    summary.update("\n".join(_requirements()).encode())
    return summary.hexdigest()


def _files_of(package: str) -> Iterator[tuple[str, Path]]:
    root = Path(importlib.import_module(package).__file__ or "").parent
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield f"{package}/{file.relative_to(root)}", file


def _requirements() -> list[str]:
    """List drakit's run-time dependencies, direct and indirect, in the versions installed here."""
    found: dict[str, str] = {}
    todo = ["drakit"]
    while todo:
        distribution = metadata.distribution(todo.pop())
        for requirement in distribution.requires or []:
            name = re.match(r"[A-Za-z0-9._-]+", requirement)
            if name is None or "extra ==" in requirement or name[0].lower() in found:
                continue
            try:
                found[name[0].lower()] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                continue  # for another platform
            todo.append(name[0])
    return sorted(f"{name}=={version}" for name, version in found.items())


def _has_base(report: Report) -> bool:
    """Whether the daemon has the base image, or can get it; ``ClusterError`` if not and nothing else will do."""
    try:
        check_daemon()
        if image_labels(_BASE) is None:
            report(f"pulling {_BASE}")
            docker("pull", "--quiet", _BASE, timeout=_PULL_SECONDS)
    except ClusterError as error:
        if image_builder.debian() is None:
            raise ClusterError(f"no {_BASE} from a registry ({error}); {image_builder.IN_A_SOURCE_TREE}") from None
        report(f"no {_BASE} from a registry ({error}), so the image is made from Debian's packages")
        return False
    return True


def _build_from_registry(name: str, file: Path, report: Report) -> None:
    check_daemon()
    source = _source_tree()
    if source is not None:
        report("docker build -f driver/Dockerfile")
        command = ["docker", "build", "-f", str(source / "driver" / "Dockerfile"), "-t", name, str(source)]
        run_step(command, file.parent, timeout=_BUILD_SECONDS)
        # Without BuildKit, each stage leaves an image.
        docker("image", "prune", "--force", "--filter", f"label={_STAGE_LABEL}", timeout=_COPY_SECONDS)
    else:
        _add_to_base(name, file.parent, report)
    docker("save", "--output", str(file), name, timeout=_COPY_SECONDS)
    with suppress(ClusterError):  # somebody runs it
        docker("rmi", name)  # each change of the source would leave one


def _source_tree() -> Path | None:
    tree = Path(__file__).parents[4]
    return tree if (tree / "driver" / "Dockerfile").exists() and (tree / "pyproject.toml").exists() else None


def _add_to_base(name: str, scratch: Path, report: Report) -> None:
    """Build the image without a source tree: copy this installation into the base image."""
    label = f"{_BUILD_LABEL}={cache_directory()}"  # of all who have the turn
    remove_containers(f"label={label}")  # of a build that was killed
    container = docker("create", "--label", label, _BASE).strip()
    try:
        layer = scratch / "drakit.layer"
        with layer.open("wb") as stream:
            write_layer(stream, _drakit_entries("/usr/local/bin/python3", scratch))
        for each in (_dependencies(report, scratch), layer):
            with each.open("rb") as stream:
                docker("cp", "-", f"{container}:/", stdin=stream, timeout=_COPY_SECONDS)
        environment = " ".join(f"{key}={value}" for key, value in _environment("/usr/local/bin").items())
        changes = [f"ENV {environment}", f"USER {_USER}", f"ENTRYPOINT {msgspec.json.encode(_ENTRYPOINT).decode()}"]
        changes.append(f"LABEL {_BUILD_LABEL}=")  # or who runs the image would be taken for a build
        flags = [word for change in changes for word in ("--change", change)]
        docker("commit", *flags, container, name, timeout=_COPY_SECONDS)
    finally:
        docker("rm", "--force", "--volumes", container)


def _build_local(name: str, file: Path, report: Report, base: Path | None) -> None:
    debian = image_builder.debian()
    if debian is None:
        raise ClusterError(image_builder.IN_A_SOURCE_TREE)
    python = file.parent / "python.layer"
    with python.open("wb") as stream:
        debian.write_packages(stream, _DEBIAN_PACKAGES, report, base=base)
    entries = [*_drakit_entries("/usr/bin/python3", file.parent), Entry(path="tmp", mode=0o1777)]
    layers: list[Layer] = [python, _dependencies(report, file.parent), entries]
    write_images(file, [Image([name], layers, entrypoint=_ENTRYPOINT, env=_environment("/usr/bin"), user=_USER)])


def _environment(python_directory: str) -> dict[str, str]:
    return {
        "PATH": f"/opt/drakit/bin:{python_directory}:/usr/bin:/bin",
        "PYTHONPATH": f"/{_LIBRARY}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _drakit_entries(python: str, scratch: Path) -> list[Entry]:
    """List drakit itself below ``/opt/drakit``, and its command."""
    library = scratch / "drakit"
    for package in _PACKAGES:
        for path, source in _files_of(package):
            target = library / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    _copy_metadata(library)
    command = f"#!{python}\nfrom drakit_kind.cli.drakit_command import main\n\nmain()\n".encode()
    return [Entry(path="opt/drakit/bin/drakit", contents=command), *_compiled_entries(library)]


def _compiled_entries(library: Path) -> Iterator[Entry]:
    """Yield all files below a directory of Python packages, compiled too if this Python is the one of the image."""
    if sys.version_info[:2] == _PYTHON:
        # Files of an image have no time, so Python is told to compare nothing.
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(
            library,
            quiet=2,
            workers=0,
            rx=_NOT_COMPILED,
            invalidation_mode=unchecked,
            stripdir=str(library),
            prependdir=f"/{_LIBRARY}",
        )
    for file in sorted(library.rglob("*")):
        if file.is_file():
            mode = 0o755 if os.access(file, os.X_OK) else 0o644
            yield Entry(path=f"{_LIBRARY}/{file.relative_to(library)}", contents=file, mode=mode)


def _copy_metadata(library: Path) -> None:
    """Copy drakit's package metadata, which only ``drakit --version`` reads."""
    distribution = metadata.distribution("drakit")
    directory = library / f"drakit-{distribution.version}.dist-info"
    directory.mkdir()
    (directory / "METADATA").write_text(distribution.read_text("METADATA") or "")


def _dependencies(report: Report, scratch: Path) -> Path:
    """Return the layer with drakit's dependencies, built once for these versions."""
    requirements = _requirements()
    recipe = msgspec.json.encode([_PYTHON, sys.version_info[:2] == _PYTHON, _NOT_COMPILED.pattern, requirements])
    file = cache_directory() / "kind" / f"dependencies-{hashlib.sha256(recipe).hexdigest()[:12]}.layer"
    if not file.exists():
        report(f"installing {len(requirements)} packages that drakit needs into the image, once, with pip")
        library, part = scratch / "lib", scratch / "dependencies.layer"
        _pip_install(library, requirements, scratch)
        with part.open("wb") as stream:
            write_layer(stream, _compiled_entries(library))
        part.rename(file)
    keep_only(file, "dependencies-*.layer")
    return file


def _pip_install(target: Path, requirements: Iterable[str], scratch: Path) -> None:
    version = ".".join(map(str, _PYTHON))
    machine = os.uname().machine
    command = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    command += ["--target", str(target)]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", version]
    command += [word for name in _PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    try:
        run_step([*command, *requirements], scratch, timeout=_PIP_SECONDS)
    except ClusterError as error:
        if "No module named pip" in str(error):
            raise ClusterError(f"the image needs pip, which {sys.executable} has not; install it there") from None
        raise
