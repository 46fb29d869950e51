"""Pods and claims of files, given devices one after the other as a scheduler would.

Of a scheduler's rules about nodes, those that a file can answer hold: node names, selectors, affinity, taints. Free CPU
and memory do not count, for files seldom say what runs on their nodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drakit_allocator.allocator import PodAllocation, Solution
from drakit_allocator.defects import SAFE
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.defect_effects import defect_effects
from drakit_allocator.explanation.inventory import Inventory
from drakit_allocator.explanation.report import DefectEffect, FaultyPatch, SilencedPatch
from drakit_allocator.explanation.summary import summary
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.nodes import Node
from drakit_allocator.scheduler.nodes.cluster import NodeInfo
from drakit_allocator.scheduler.nodes.filters import NODE_RESOURCES, reject
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.search import Limits
from drakit_api.core.node_selectors import node_selector
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.manifests.documents import ManifestError
from drakit_client.manifests.files import Manifests

# Outcomes after which Kubernetes asks no other node.
_ENDS = ("fits", "error", "timeout")


@dataclass(slots=True)
class Workload:
    """Claims that are allocated together: those of a pod, or one that no pod uses. Changed by allocating."""

    pod: Object | None
    claims: list[Object]

    @property
    def name(self) -> str:
        """``pod default/a`` or ``claim default/a``."""
        kind, owner = ("pod", self.pod) if self.pod is not None else ("claim", self.claims[0])
        return f"{kind} {owner['metadata']['namespace']}/{owner['metadata']['name']}"

    @property
    def to_allocate(self) -> list[Object]:
        """The claims without allocation."""
        return [claim for claim in self.claims if not (claim.get("status") or {}).get("allocation")]


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of a workload. Without ``node``: why each node does not do, by node; "" is for all of them.

    ``defects``: those of Kubernetes for which its answer would have been another one, on one of the nodes that were
    asked; looked for only without defects (``SAFE``).
    """

    workload: Workload
    allocated: tuple[Object, ...]
    node: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict)
    defects: tuple[DefectEffect, ...] = ()


def workloads(manifests: Manifests) -> list[Workload]:
    """List pods with claims, then claims that no pod uses. Claims of templates are made, unless the files have them.

    Raises ``ManifestError``.
    """
    errors: list[str] = []
    found: list[Workload] = []
    for pod in manifests.of("Pod"):
        if PodInfo(pod).finished:
            continue
        claims = list(_claims_of(pod, manifests, errors))
        if claims:
            found.append(Workload(pod, claims))
    if errors:
        raise ManifestError(errors)
    used = {id(claim) for workload in found for claim in workload.claims}
    return [*found, *(Workload(None, [claim]) for claim in manifests.of("ResourceClaim") if id(claim) not in used)]


def _claims_of(pod: Object, manifests: Manifests, errors: list[str]) -> Iterator[Object]:
    namespace, pod_name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    generated = {one["name"]: one.get("resourceClaimName") for one in _list(pod, "status", "resourceClaimStatuses")}
    for reference in _list(pod, "spec", "resourceClaims"):
        name, template = reference.get("resourceClaimName"), reference.get("resourceClaimTemplateName")
        where = f"Pod {namespace}/{pod_name}, spec.resourceClaims {reference.get('name')}"
        if template:
            name = generated.get(reference["name"]) or f"{pod_name}-{reference['name']}"
            claim = manifests.get("ResourceClaim", namespace, name) or _generate(manifests, namespace, template, name)
            missing = f"there is no ResourceClaimTemplate {namespace}/{template} in the files"
        elif name:
            claim = manifests.get("ResourceClaim", namespace, name)
            missing = f"there is no ResourceClaim {namespace}/{name} in the files"
        else:
            claim, missing = None, "resourceClaimName or resourceClaimTemplateName: required"
        if claim is None:
            errors.append(f"{where}: {missing}")
        else:
            yield claim


def _list(obj: Object, part: str, member: str) -> list[Object]:
    return (obj.get(part) or {}).get(member) or []


def _generate(manifests: Manifests, namespace: str, template: str, name: str) -> Object | None:
    found = manifests.get("ResourceClaimTemplate", namespace, template)
    if found is None:
        return None
    metadata = {**(found["spec"].get("metadata") or {}), "name": name, "namespace": namespace}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": found["spec"]["spec"],
    }
    manifests.by_kind.setdefault("ResourceClaim", {})[namespace, name] = claim
    return claim


class Placement:
    """Devices and nodes, and what has been given out so far."""

    def __init__(self, inventory: Inventory, nodes: Sequence[Object], *, timeout: float | None = None) -> None:
        """Start from an inventory. ``timeout``: seconds that a search on one node may take."""
        self._inventory = inventory
        self._snapshot, self._allocated = inventory.snapshot(), inventory.allocated()
        self._nodes = nodes
        self._timeout = timeout

    @property
    def faulty_patches(self) -> list[FaultyPatch]:
        """Patches that do not apply because of an error, as far as devices were looked at."""
        return list(map(FaultyPatch.of, self._snapshot.overlay.faults))

    @property
    def silenced_patches(self) -> tuple[SilencedPatch, ...]:
        """What patches say in vain."""
        return SilencedPatch.of(self._snapshot.overlay.patches)

    def place(self, workload: Workload) -> Placed:
        """Allocate the workload's claims on the first node that has devices for all; they get their status."""
        to_allocate = tuple(workload.to_allocate)
        try:
            pod = PodAllocation(to_allocate, self._snapshot, self._allocated)
        except AllocationError as error:
            return Placed(workload, (), refusals={"": error.message})
        candidates, refusals = split_nodes(workload, self._nodes)
        defects: list[DefectEffect] = []
        for node in map(Node.of, candidates):
            limits = self._limits()
            try:
                solution = pod.on(node, limits)
            except AllocationError as error:
                refusals[node.name] = error.message
                defects += self._defects(pod, node, defects)
                if error.on_node:
                    continue
                break  # As in a scheduler, whose attempt this ends.
            defects += self._defects(pod, node, defects)
            if solution is not None:
                self._record(workload, to_allocate, solution)
                return Placed(workload, to_allocate, node.name, defects=tuple(defects))
            refusals[node.name] = summary(pod, node)
        return Placed(workload, (), refusals=refusals, defects=tuple(defects))

    def _limits(self) -> Limits:
        return Limits(None if self._timeout is None else time.monotonic() + self._timeout)

    def _defects(self, pod: PodAllocation, node: Node, before: Sequence[DefectEffect]) -> tuple[DefectEffect, ...]:
        """Find the defects that matter on the node, which Kubernetes does not try if it has ended on one before."""
        if self._snapshot.features.defects != SAFE or any(one.upstream in _ENDS for one in before):
            return ()
        return defect_effects(pod, node, Clock.of(self._limits()))

    def _record(self, workload: Workload, claims: Iterable[Object], solution: Solution) -> None:
        for claim, allocation in zip(claims, solution.results(), strict=True):
            claim["status"] = {**(claim.get("status") or {}), "allocation": allocation}
            if workload.pod is not None and (uid := workload.pod["metadata"].get("uid")):
                user = {"resource": "pods", "name": workload.pod["metadata"]["name"], "uid": uid}
                claim["status"]["reservedFor"] = [user]
            self._allocated.add_claim(claim)


def split_nodes(workload: Workload, nodes: Sequence[Object]) -> tuple[list[Object], dict[str, str]]:
    """Split nodes into those that the workload may run on, devices aside, and the others with the reason."""
    candidates: list[Object] = []
    excluded: dict[str, str] = {}
    for node in nodes:
        info = NodeInfo(node["metadata"]["name"])
        info.set_object(node)
        refusal = refused(workload, info)
        if refusal is None:
            candidates.append(node)
        else:
            excluded[info.name] = refusal
    return candidates, excluded


def refused(workload: Workload, node: NodeInfo) -> str | None:
    """Say why the workload cannot run on the node, whatever devices it has; None if it can."""
    if workload.pod is not None:
        rejection = reject(PodInfo(workload.pod), node)
        if rejection is not None and rejection.plugin != NODE_RESOURCES:
            return ", ".join(rejection.reasons)
    for claim in workload.claims:
        allocation = (claim.get("status") or {}).get("allocation")
        selector = node_selector(allocation.get("nodeSelector")) if allocation else None
        if selector is not None and not selector.matches(node.name, node.labels):
            return f"claim {claim['metadata']['name']} is allocated elsewhere"
    return None


def chosen(found: Sequence[Workload], pods: Sequence[str], claims: Sequence[str]) -> list[Workload]:
    """Choose the workloads of these pods and with these claims, or all if none are named; not those fully allocated.

    A name is ``NAME`` or ``NAMESPACE/NAME``. Raises ``ManifestError``.
    """
    if not found:
        raise ManifestError(["there is no ResourceClaim in the files, and no Pod that uses one"])
    errors = [
        *(f"--pod {name}: no such Pod with claims in the files" for name in pods if not _any(found, {name}, set())),
        *(f"--claim {name}: no such ResourceClaim in the files" for name in claims if not _any(found, set(), {name})),
    ]
    if errors:
        raise ManifestError(errors)
    picked = _any(found, set(pods), set(claims)) if pods or claims else found
    return [workload for workload in picked if workload.to_allocate]


def _any(found: Sequence[Workload], pods: set[str], claims: set[str]) -> list[Workload]:
    return [
        workload
        for workload in found
        if (workload.pod is not None and not pods.isdisjoint(_names(workload.pod)))
        or any(not claims.isdisjoint(_names(claim)) for claim in workload.claims)
    ]


def _names(obj: Object) -> tuple[str, str]:
    metadata: ObjectMeta = obj["metadata"]
    return metadata["name"], f"{metadata['namespace']}/{metadata['name']}"
