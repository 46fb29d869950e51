"""A kind node image of any Kubernetes version, made of local binaries and a Debian root: no registry is asked.

What kind does with a downloaded release and its published base image, it does here with what we give it; only the
manifests of its network and storage, whose images nobody has here, are replaced afterwards.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drakit_client.files.user_cache import cache_directory
from drakit_images import debian, node_files, server_tar
from drakit_images.kind_module import KindModule, kind_module, kind_version
from drakit_kind import images
from drakit_kind.cluster import ClusterError, Report
from drakit_kind.images import Entry, Image, write_images, write_layer
from drakit_kind.kind.docker import check_daemon, docker, image_labels, load, remove_containers
from drakit_kind.kind.node_images import component_images
from drakit_kind.kind.node_images.build_steps import run_step
from drakit_kind.kind.node_images.image_builder import BINARIES, INPUTS_LABEL
from drakit_kind.kubernetes.assets import Assets
from drakit_kind.processes.turns import one_at_a_time, scratch_directory

# A registry name that no one else can own: kind tries to pull what it builds from.
_REPOSITORY = "localhost/drakit-node"
_BASE_REPOSITORY = f"{_REPOSITORY}-base"
# The cache directory of who has the turn; other caches' builds have theirs, at the same daemon.
_BUILD_LABEL = "drakit.node-image.build"
# pkg/build/nodeimage of kind: how it names the containers in which it builds.
_CONTAINER = "kind-build-"
_BUILD_SECONDS = 900.0
_COPY_SECONDS = 120.0


def default_name(version: str) -> str:
    """Name the image that clusters of this version use if the user names none."""
    return f"{_REPOSITORY}:v{version}"


def build(assets: Assets, report: Report, *, name: str | None = None, base: Path | None = None) -> str:
    """Make the node image of ``assets.version``, unless it was made from the same already; returns its name.

    ``base`` is a Debian root as a tar file, instead of that of ``debian.root_tar``. Raises ``ClusterError`` that names
    what is missing and the way out. Whenever it is interrupted, nothing unfinished stays, and the next call continues
    with what is cached.
    """
    check_daemon()
    with _or_a_registrys(assets.version):  # before anything that takes long
        binaries = [assets.path(each) for each in BINARIES]
    module = kind_module(kind_version(assets.path("kind")))
    with _or_a_registrys(assets.version):
        root = base or debian.root_tar(cache_directory(), report)
    inputs = _digest([root, *binaries, *_recipe()], module.version)
    name = name or default_name(assets.version)
    directory = cache_directory() / "kind"
    with one_at_a_time(directory / "node-image.lock", report):
        if (image_labels(name) or {}).get(INPUTS_LABEL) == inputs:
            report(f"{name} is there already, made from the same")
            return name
        base_name = f"{_BASE_REPOSITORY}:{inputs[:12]}-{_digest([], str(directory))[:12]}"
        with scratch_directory(directory, "node-image-") as scratch, _only_while_building():
            report("base image: Debian with systemd, containerd and kind's own files")
            _load_base(base_name, root, module, assets, scratch, inputs)
            report("component images: kube-apiserver and the others, as kubeadm expects them")
            server = scratch / "kubernetes-server.tar.gz"
            server_tar.write_server_tar(server, assets, module, root, scratch)
            report("kind build node-image")
            _kind_build(assets.path("kind"), server, base_name, scratch)
            _replace_manifests(f"{base_name}-built", name)
        # What had this name before is about a gigabyte. What a container is made from stays until the next build.
        docker("image", "prune", "--force", "--filter", f"label={INPUTS_LABEL}", timeout=_COPY_SECONDS)
    report(f"{name} is ready")
    return name


@contextmanager
def _or_a_registrys(version: str) -> Iterator[None]:
    """Errors for want of what an image is made of name the other way to one."""
    try:
        yield
    except ClusterError as error:
        raise ClusterError(
            f"{error}; where a registry can be reached, tests take its image: "
            f"`--drakit-kind-image kindest/node:v{version}`"
        ) from None


def _recipe() -> list[Path]:
    """List the source files that decide what is made of the same binaries."""
    modules = (node_files, server_tar, component_images, debian, images)
    return [Path(__file__), *(Path(module.__file__ or "") for module in modules)]


def _digest(files: list[Path], *texts: str) -> str:
    summary = hashlib.sha256("\n".join(texts).encode())
    for path in files:
        with path.open("rb") as file:
            summary.update(hashlib.file_digest(file, "sha256").digest())
    return summary.hexdigest()


@contextmanager
def _only_while_building() -> Iterator[None]:
    """Take away the images and containers of the build, also when it fails or is interrupted, or another was killed."""
    _remove_builds()
    try:
        yield
    finally:
        _remove_builds()


def _remove_builds() -> None:
    ours = f"label={_BUILD_LABEL}={cache_directory()}"
    # Containers have the labels of their image; somebody may have made a cluster's nodes from it.
    remove_containers(ours, f"name=^{_CONTAINER}")
    arguments = ["--filter", ours, "--filter", f"reference={_BASE_REPOSITORY}", "--format", "{{.Repository}}:{{.Tag}}"]
    for image in docker("image", "ls", *arguments).split():
        with suppress(ClusterError):  # what another image is made from stays, without this name
            docker("rmi", image)


def _load_base(name: str, root: Path, module: KindModule, assets: Assets, scratch: Path, inputs: str) -> None:
    node_root = scratch / "root.layer"
    with tarfile.open(root) as source, tarfile.open(node_root, "w", format=tarfile.PAX_FORMAT) as kept:
        for member in source:
            if node_files.belongs_in_node(member.name.removeprefix("./")):
                kept.addfile(member, source.extractfile(member) if member.isreg() else None)
    image = Image(
        [name],
        [node_root, list(node_files.entries(module, assets))],
        entrypoint=["/usr/local/bin/entrypoint", "/sbin/init"],
        env={"container": "docker", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        stop_signal="SIGRTMIN+3",
        labels={INPUTS_LABEL: inputs, _BUILD_LABEL: str(cache_directory())},
    )
    archive = scratch / "base.tar"
    write_images(archive, [image])
    load(archive)
    node_root.unlink()
    archive.unlink()


def _kind_build(kind: Path, server: Path, base_name: str, scratch: Path) -> None:
    command = [str(kind), "build", "node-image", "--type", "file", str(server)]
    command += ["--base-image", base_name, "--image", f"{base_name}-built"]
    # kind unpacks the release below TMPDIR and leaves it there.
    run_step(command, scratch, timeout=_BUILD_SECONDS, environment={"TMPDIR": str(scratch)})


def _replace_manifests(built: str, name: str) -> None:
    layer = io.BytesIO()
    write_layer(layer, [Entry(path=path, contents=text, mode=0o644) for path, text in node_files.MANIFESTS.items()])
    container = docker("create", "--name", f"{_CONTAINER}drakit-{built.rpartition(':')[2]}", built).strip()
    try:
        docker("cp", "-", f"{container}:/", stdin=layer.getvalue(), timeout=_COPY_SECONDS)
        docker("commit", "--change", f'LABEL {_BUILD_LABEL}=""', container, name, timeout=_COPY_SECONDS)
    finally:
        docker("rm", "--force", "--volumes", container)
