"""The nodes that files are about: those in them, or those that their ResourceSlices name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drakit_allocator.manifest_documents import ManifestError
from drakit_allocator.manifest_files import Manifests

Object = dict[str, Any]


def nodes_of(manifests: Manifests, only: Sequence[str]) -> tuple[list[Object], bool]:
    """The Nodes in their order, ``only`` those of these names; and whether they had to be assumed.

    Raises ``ManifestError``.
    """
    known = manifests.of("Node")
    is_assumed = not known
    if is_assumed:
        named = [slice_["spec"].get("nodeName") for slice_ in manifests.of("ResourceSlice")]
        known = [_assumed(name) for name in dict.fromkeys(name for name in (*named, *only) if name)]
    if not known:
        raise ManifestError(
            [
                "there is no Node in the files, and no ResourceSlice names one; add Nodes (kubectl get nodes -o yaml),"
                " or name nodes with --node"
            ]
        )
    names = [node["metadata"]["name"] for node in known]
    if unknown := [name for name in only if name not in names]:
        raise ManifestError(
            [f"--node {name}: no such Node in the files; there are {', '.join(names)}" for name in unknown]
        )
    return [node for node in known if not only or node["metadata"]["name"] in only], is_assumed


def _assumed(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
