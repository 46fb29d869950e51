"""Whether images can be made on this machine without a registry, and by what.

The package that makes them, ``drakit_images``, is in drakit's source tree and not in what is installed from it: most
users have a registry. It stands above this package, so it is looked for by its name and never imported here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import IO, Protocol, cast

from drakit_kind.cluster import Report
from drakit_kind.kind.docker import image_labels
from drakit_kind.kubernetes.assets import Assets

PACKAGE = "drakit_images"
# Says of an image what it was made from here.
INPUTS_LABEL = "drakit.inputs"
# Named in docs/kind.md: without all of these no node image is made.
BINARIES = (
    "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubeadm", "kubelet", "kubectl",
    "etcd", "pause", "containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback", "portmap",
    "ptp", "kind",
)  # fmt: skip
# Said where there is no builder.
IN_A_SOURCE_TREE = (
    "images without a registry are made by drakit's source tree only "
    "(`make setup` there, or `pip install --editable .`)"
)


class NodeImageBuilder(Protocol):
    """What this package uses of ``drakit_images.node_image``."""

    def build(self, assets: Assets, report: Report, *, name: str | None = None, base: Path | None = None) -> str:
        """Make the node image of a version; see there."""


class Debian(Protocol):
    """What this package uses of ``drakit_images.debian``."""

    def given_root(self) -> Path | None:
        """Return the user's Debian root; see ``drakit_images.debian.given_root``."""

    def write_packages(self, stream: IO[bytes], names: Iterable[str], report: Report, *, base: Path | None) -> None:
        """Write packages of Debian as a layer; see there."""


def node_image_builder() -> NodeImageBuilder | None:
    """Return what makes node images of local binaries; None in an installed drakit."""
    return cast("NodeImageBuilder | None", _module("node_image"))


def debian() -> Debian | None:
    """Return what makes layers of Debian's packages; None in an installed drakit."""
    return cast("Debian | None", _module("debian"))


def is_ours(image: str) -> bool:
    """Whether the daemon has this image and it was made by a drakit, here or elsewhere."""
    return bool((image_labels(image) or {}).get(INPUTS_LABEL))


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:  # something that it needs is missing
            raise
        return None
