"""Which node images a cluster gets, and what else must be in its nodes: drakit's own image, and that of test pods."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cluster import ClusterError, ClusterSpec, Report, tagged_version
from drakit_kind.clusters.manifests import IMAGE
from drakit_kind.images import busybox_archive
from drakit_kind.kind.docker import docker, image_labels
from drakit_kind.kind.node_images import driver_image, image_builder
from drakit_kind.kubernetes.assets import assets_of
from drakit_kind.nodes.busybox import VARIABLE as BUSYBOX_VARIABLE
from drakit_kind.nodes.busybox import find_busybox

_STOCK = "kindest/node"
_PULL_SECONDS = 600.0


@dataclass(frozen=True)
class NodeImages:
    """The node image of each Kubernetes version; ``dns``: whether they have CoreDNS."""

    by_version: Mapping[str, str]
    dns: bool


def check_tag(spec: ClusterSpec, image: str | None) -> None:
    """Raise ``ClusterError`` for a node image whose tag says another version than the cluster's."""
    tagged = tagged_version(image or "")
    if tagged is not None and tagged != spec.version:
        raise ClusterError(
            f"--drakit-kind-image {image} is Kubernetes {tagged}, and the cluster shall be {spec.version}: "
            f"name an image of that version, or none; or ask for {tagged} "
            "(--drakit-kubernetes-version, ClusterSpec.version)"
        )


def node_images(spec: ClusterSpec, image: str | None, report: Report) -> NodeImages:
    """Choose the node images of a cluster's control plane and kubelets: all built here, or all from a registry.

    Both kinds have pod networks that do not work together. ``image`` is used for the control plane's version; if it is
    None, images are built here if all binaries and drakit's source tree are present, else taken from a registry.
    Raises ``ClusterError`` if neither is possible.
    """
    versions = {spec.version, spec.version_of("kubelet")}
    if image is None:
        lacks = dict.fromkeys(lack for version in sorted(versions) if (lack := _lack(spec, version)))
        make, chosen = not lacks, {}
        way_out = f"name another with --drakit-kind-image, or have all made here: {', '.join(lacks)}"
    else:
        _pull_missing(image, "name another with --drakit-kind-image", report)
        make, chosen = image_builder.is_ours(image), {spec.version: image}
        way_out = f"it was asked for as {image} was not made by drakit; without --drakit-kind-image all are made here"
    builder = image_builder.node_image_builder()
    for version in sorted(versions - chosen.keys()):
        if not make:
            chosen[version] = f"{_STOCK}:v{version}"
            _pull_missing(chosen[version], way_out, report)
        elif builder is None or _lack(spec, version):
            raise ClusterError(
                f"{image} was made by drakit, and {_STOCK}:v{version} has another pod network; an image that goes "
                f"with it has to be made here: {_lack(spec, version)}"
            )
        else:
            chosen[version] = builder.build(assets_of(spec, version), report)
    return NodeImages(chosen, dns=not make)


def _lack(spec: ClusterSpec, version: str) -> str:
    """Say why no node image can be made here, e.g. for want of a binary, with the way out; "" if one can."""
    if image_builder.node_image_builder() is None:
        return image_builder.IN_A_SOURCE_TREE
    assets = assets_of(spec, version)
    lacking = next((name for name in image_builder.BINARIES if assets.find(name) is None), None)
    return f"{lacking} of Kubernetes {version} is missing: {assets.remedy(lacking)}" if lacking else ""


def _pull_missing(image: str, way_out: str, report: Report) -> None:
    if image_labels(image) is not None:
        return
    report(f"pulling {image}")
    try:
        docker("pull", "--quiet", image, timeout=_PULL_SECONDS)
    except ClusterError as error:
        raise ClusterError(f"node image {image} is not here and cannot be pulled ({error}); {way_out}") from None


def pod_images(report: Report) -> Iterator[tuple[str, Path]]:
    """Yield names and docker archives of the images that pods run, drakit's own first; make them if need be."""
    yield driver_image.archive(report)
    yield IMAGE, _busybox(report)


def _busybox(report: Report) -> Path:
    """Make the image of test pods from the busybox that ``find_busybox`` finds; without one, take a registry's."""
    file = cache_directory() / "kind" / "busybox.tar"
    try:
        busybox_archive(file, find_busybox(report))
    except ClusterError as error:
        if os.environ.get(BUSYBOX_VARIABLE):
            raise
        _save(IMAGE, file, report, otherwise=str(error))
    return file


def _save(image: str, file: Path, report: Report, *, otherwise: str) -> None:
    try:
        if image_labels(image) is None:
            report(f"pulling {image}")
            docker("pull", "--quiet", image, timeout=_PULL_SECONDS)
        docker("save", "--output", str(file), image)  # which renames when it is done
    except ClusterError as error:
        raise ClusterError(f"{image}, which test pods run, cannot be pulled ({error}); instead, {otherwise}") from None
