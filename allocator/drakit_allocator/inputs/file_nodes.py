"""The nodes that files are about: those in them, or those that their ResourceSlices are for.

Slices, and devices of slices with ``perDeviceNodeSelection``, name nodes, select them by labels, or are for all nodes.
Where files have no Nodes, the fewest that these can mean are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drakit_api.core.node_selectors import HOSTNAME_LABEL, listed_nodes, selects
from drakit_api.kubernetes_objects import Object
from drakit_client.manifests.documents import ManifestError
from drakit_client.manifests.files import Manifests

_ANY = "any-node"  # where all that is known of nodes is that devices are for all of them


def nodes_of(manifests: Manifests, only: Sequence[str]) -> tuple[list[Object], bool]:
    """Return the Nodes in their order, those named ``only`` if any are; and whether they had to be assumed.

    Raises ``ManifestError``.
    """
    known = manifests.of("Node")
    is_assumed = not known
    if is_assumed:
        known = _assumed(manifests.of("ResourceSlice"), only)
    if not known:
        raise ManifestError(
            [
                "there is no Node in the files, and no ResourceSlice that says where its devices are; add Nodes"
                " (kubectl get nodes -o yaml), or name nodes with --node"
            ]
        )
    names = [node["metadata"]["name"] for node in known]
    if unknown := [name for name in only if name not in names]:
        raise ManifestError(
            [f"--node {name}: no such Node in the files; there are {', '.join(names)}" for name in unknown]
        )
    return [node for node in known if not only or node["metadata"]["name"] in only], is_assumed


def _assumed(slices: Iterable[Object], only: Iterable[str]) -> list[Object]:
    """Make nodes for these slices, and nodes of these names."""
    found: dict[str, dict[str, str]] = {}
    is_for_all = False
    for place in _places(slices):
        is_for_all = is_for_all or bool(place.get("allNodes"))
        if name := place.get("nodeName"):
            found.setdefault(name, {HOSTNAME_LABEL: name})
        for term in (place.get("nodeSelector") or {}).get("nodeSelectorTerms") or ():
            _add_selected(term, found)
    for name in only:
        found.setdefault(name, {HOSTNAME_LABEL: name})
    if is_for_all and not found:
        found[_ANY] = {HOSTNAME_LABEL: _ANY}
    return [_node(name, labels) for name, labels in found.items()]


def _places(slices: Iterable[Object]) -> Iterator[Object]:
    """Yield what has ``nodeName``, ``nodeSelector`` or ``allNodes``: specs of slices, or each of their devices."""
    for one in slices:
        spec = one["spec"]
        if spec.get("perDeviceNodeSelection"):
            yield from spec.get("devices") or ()
        else:
            yield spec


def _add_selected(term: Mapping[str, Any], found: dict[str, dict[str, str]]) -> None:
    """Add the nodes that a term of a selector lists; where it lists none, one with the labels that it wants."""
    labels = dict(_labels(term))
    names = listed_nodes(term)
    if not names and not any(_is_selected(term, name, known) for name, known in found.items()):
        names = [f"node-for-{len(found) + 1}"]
    for name in names:
        known = found.setdefault(name, {HOSTNAME_LABEL: name})
        if not _is_selected(term, name, known):
            known |= {key: value for key, value in labels.items() if key not in known}


def _labels(term: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield for each key a value that satisfies all that the term requires of it, if one that it names does."""
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    for requirement in term.get("matchExpressions") or ():
        by_key.setdefault(str(requirement.get("key")), []).append(requirement)
    for key, requirements in by_key.items():
        candidates = [value for requirement in requirements for value in _values(requirement)]
        of_key = {"matchExpressions": requirements}
        if (value := next((one for one in candidates if _is_selected(of_key, "", {key: one})), None)) is not None:
            yield key, value


def _values(requirement: Mapping[str, Any]) -> list[str]:
    """List values that satisfy a requirement by itself; one that compares with no number cannot be satisfied."""
    values = [str(value) for value in requirement.get("values") or ()]
    match requirement.get("operator"):
        case "In":
            return values
        case "Exists":
            return [""]
        case "Gt" | "Lt" as operator:
            step = 1 if operator == "Gt" else -1
            return [str(int(value) + step) for value in values if re.fullmatch(r"[+-]?\d+", value)]
    return []


def _is_selected(term: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    return selects({"nodeSelectorTerms": [term]}, name, labels)


def _node(name: str, labels: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def label_text(node: Object) -> str:
    """Print a node's name, with the labels that were assumed beside its host name."""
    labels = node["metadata"]["labels"].items()
    others = ", ".join(f"{key}={value}" if value else key for key, value in labels if key != HOSTNAME_LABEL)
    return f"{node['metadata']['name']}{f' ({others})' if others else ''}"
