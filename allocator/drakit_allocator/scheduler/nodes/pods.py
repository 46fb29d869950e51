"""A pod as the filters see it: parsed once when it is first seen, compared many times.

The JSON object stays untouched (it is shared with the reflector). Only what scheduling asks about is pulled out, and
what is rarely needed, such as affinity terms, is compiled when it is first asked for.

Source: kubernetes ``pkg/scheduler/framework/types.go`` (PodInfo, AffinityTerm).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from drakit_allocator.scheduler.nodes import resources
from drakit_api.core.label_selectors import Matcher, equality, label_selector
from drakit_api.core.node_selectors import NodeSelector, node_selector
from drakit_api.core.pod_claims import is_terminal
from drakit_api.kubernetes_objects import Object


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A required pod affinity or anti-affinity term: which pods it means, and over which topology."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_matcher: Matcher | None
    matcher: Matcher

    def selects(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool:
        """Tell whether the term means this pod, which lives in a namespace of these labels."""
        if pod.namespace not in self.namespaces and not (
            self.namespace_matcher is not None and self.namespace_matcher(namespace_labels)
        ):
            return False
        return self.matcher(pod.labels)


class PodInfo:
    """One pod, immutable apart from ``node``, which is set when the pod is assumed to run there."""

    def __init__(self, obj: Object) -> None:
        metadata, spec = obj["metadata"], obj["spec"]
        self.obj = obj
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace", "")
        self.uid: str = metadata.get("uid", "")
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.spec: Mapping[str, Any] = spec
        self.node: str = spec.get("nodeName") or ""
        self.priority: int = spec.get("priority") or 0
        self.affinity: Mapping[str, Any] = spec.get("affinity") or {}

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def deleted(self) -> bool:
        """Whether deletion has been asked for."""
        return "deletionTimestamp" in self.obj["metadata"]

    @property
    def finished(self) -> bool:
        """Whether all containers have ended for good, so that the pod uses nothing any more."""
        return is_terminal(self.obj)

    @property
    def gates(self) -> list[str]:
        """Names of the scheduling gates that keep the pod out of the queue."""
        return [gate.get("name", "") for gate in self.spec.get("schedulingGates") or []]

    @cached_property
    def requests(self) -> resources.Amounts:
        """Requested amounts by resource, in the units of ``resources``."""
        return resources.pod_requests(self.spec)

    @cached_property
    def nonzero(self) -> tuple[int, int]:
        """cpu (thousandths) and memory (bytes) that count in scores."""
        return resources.nonzero_requests(self.spec)

    @cached_property
    def ports(self) -> frozenset[tuple[str, str, int]]:
        """The host ports that it takes: (address, protocol, port)."""
        return resources.host_ports(self.spec)

    @cached_property
    def tolerations(self) -> list[Mapping[str, Any]]:
        """Tolerations of node taints."""
        return self.spec.get("tolerations") or []

    @cached_property
    def node_labels(self) -> Matcher | None:
        """The test of node labels that ``spec.nodeSelector`` is; None without one."""
        wanted = self.spec.get("nodeSelector")
        return equality(wanted) if wanted else None

    @cached_property
    def node_affinity(self) -> NodeSelector | None:
        """Its required node affinity; None without one."""
        affinity = self.affinity.get("nodeAffinity") or {}
        return node_selector(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))

    @cached_property
    def required_affinity(self) -> list[AffinityTerm]:
        """Terms of which all must be met by pods in the node's topology."""
        return self._terms("podAffinity")

    @cached_property
    def required_anti_affinity(self) -> list[AffinityTerm]:
        """Terms of which none may be met by pods in the node's topology."""
        return self._terms("podAntiAffinity")

    @cached_property
    def signature(self) -> bytes:
        """Equal for pods that a node's own properties and free resources treat alike."""
        affinity = self.affinity.get("nodeAffinity")
        tolerations = self.spec.get("tolerations")
        selector = self.spec.get("nodeSelector")
        ports = sorted(self.ports)
        return msgspec.json.encode(
            [self.node, self.requests, self.nonzero, ports, selector, affinity, tolerations], order="deterministic"
        )

    def differs(self, other: PodInfo) -> bool:
        """Tell whether another state of the same pod asks for something else."""
        return self.labels != other.labels or self.spec != other.spec or self._claim_statuses != other._claim_statuses

    @property
    def _claim_statuses(self) -> Any:
        return (self.obj.get("status") or {}).get("resourceClaimStatuses")

    def _terms(self, kind: str) -> list[AffinityTerm]:
        terms = (self.affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or []
        return [affinity_term(term, self) for term in terms]


def affinity_term(term: Mapping[str, Any], owner: PodInfo) -> AffinityTerm:
    """Compile a ``PodAffinityTerm`` of this pod.

    Without namespaces and namespace selector it means the pod's own namespace. ``matchLabelKeys`` and
    ``mismatchLabelKeys`` are merged into the selector by kube-apiserver already; merging them again changes nothing.
    """
    namespaces = frozenset(term.get("namespaces") or ())
    selector = term.get("namespaceSelector")
    if not namespaces and selector is None:
        namespaces = frozenset((owner.namespace,))
    return AffinityTerm(
        topology_key=term.get("topologyKey") or "",
        namespaces=namespaces,
        namespace_matcher=None if selector is None else label_selector(selector),
        matcher=label_selector(_with_label_keys(term, owner.labels)),
    )


def _with_label_keys(term: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any] | None:
    selector: Mapping[str, Any] | None = term.get("labelSelector")
    extra = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or []
        if key in labels
    ]
    if selector is None or not extra:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or []), *extra]}
