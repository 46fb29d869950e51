"""The images of Kubernetes' own components, as kubeadm expects them, around binaries of this machine.

A component of a running cluster that becomes another version gets one, where the binary is here.
"""

from __future__ import annotations

from pathlib import Path

from drakit_kind.images import Entry, Image, write_images
from drakit_kind.kubernetes.assets import Assets

_REGISTRY = "registry.k8s.io"

# Below the programs of every image.
BASE = (
    Entry(path="etc/passwd", contents=b"root:x:0:0:root:/root:/sbin/nologin\n", mode=0o644),
    Entry(path="etc/group", contents=b"root:x:0:\n", mode=0o644),
    Entry(path="etc/nsswitch.conf", contents=b"hosts: files dns\n", mode=0o644),
    Entry(path="tmp", mode=0o1777),
)


def image_name(component: str, version: str) -> str:
    """Return kubeadm's name for the image of a Kubernetes component."""
    return f"{_REGISTRY}/{component}:v{version}"


def write_component(file: Path, component: str, assets: Assets, *, name: str | None = None) -> None:
    """Write the image archive of one control plane component."""
    entries = [Entry(path=f"usr/local/bin/{component}", contents=assets.path(component))]
    write_images(file, [Image([name or image_name(component, assets.version)], [BASE, entries])])
