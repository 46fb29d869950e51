"""Pods that request devices as extended resources: which DeviceClass is behind them, and which claim would be made.

Such a pod has no claim until a scheduler makes one, so there is nothing that could be explained but what it would be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from drakit_allocator.explanation.phrases import joined, some_of, switch_on
from drakit_allocator.explanation.report import ExtendedResource
from drakit_allocator.scheduler import extended_resources
from drakit_allocator.scheduler.nodes import resources
from drakit_api.core.containers import LASTING, containers_of
from drakit_api.kubernetes_objects import ReadOnlyObject

WAY_OUT = (
    "drakit's scheduler makes no such claim yet: schedule the pod with kube-scheduler (drakit cluster up --real"
    " scheduler), or name a claim in spec.resourceClaims"
)


@dataclass(frozen=True)
class ExtendedRequests:
    """The extended resources of a pod, beside the DeviceClasses of the cluster; ``is_on``: the gate for them."""

    pod: ReadOnlyObject
    classes: Sequence[ReadOnlyObject]
    is_on: bool = True

    @cached_property
    def requested(self) -> dict[str, int]:
        """Its extended resources, with the amounts that it requests."""
        return extended_resources.requested(self.pod["spec"])

    @cached_property
    def backed(self) -> dict[str, str]:
        """The DeviceClass behind each resource that has one; none has while the gate is off."""
        found = {name: extended_resources.class_of(name, self.classes) for name in self.requested}
        return {name: one["metadata"]["name"] for name, one in found.items() if one is not None and self.is_on}

    @cached_property
    def claim(self) -> dict[str, Any] | None:
        """The claim that kube-scheduler would make; None where no class is behind any resource."""
        return extended_resources.claim_for(self.pod, self.backed) if self.backed else None

    def excluded(self, nodes: Iterable[ReadOnlyObject]) -> dict[str, str]:
        """Return the nodes for which no such claim would be made, or on which no claim is enough, with the reason."""
        found = {}
        for node in nodes:
            if (reason := self._refusal(node)) is not None:
                found[node["metadata"]["name"]] = reason
        return found

    def _refusal(self, node: ReadOnlyObject) -> str | None:
        offered = resources.amounts((node.get("status") or {}).get("allocatable"))
        for name in self.requested:
            if name in self.backed and offered.get(name):
                return f"a device plugin offers {name} there, for which no devices are allocated then"
            if name not in self.backed and name not in offered:
                return f"it has no {name}, and no DeviceClass is behind that"
        return None

    def described(self) -> tuple[ExtendedResource, ...]:
        """Describe the extended resources for an explanation."""
        requests = [] if self.claim is None else self.claim["spec"]["devices"]["requests"]
        return tuple(
            ExtendedResource(
                name,
                amount,
                self.backed.get(name, ""),
                tuple(one["name"] for one in requests if self._is_for(one, name)),
            )
            for name, amount in sorted(self.requested.items())
        )

    def _is_for(self, request: ReadOnlyObject, resource: str) -> bool:
        """Tell by a request's name, which has the container and the position of the resource among its requests."""
        spec = self.pod["spec"]
        containers = list(containers_of(spec, LASTING))
        _, number, _, position = request["name"].split("-")
        wanted = sorted((containers[int(number)].get("resources") or {}).get("requests") or {})
        return bool(wanted[int(position)] == resource)

    def lines(self) -> Iterator[str]:
        """Yield the requests in words, to stand below a line that says that the pod has them."""
        for one in self.described():
            yield f"  {one.resource}: {one.amount}, {self._source(one)}"
        if self.claim is not None:
            name = f"{self.claim['metadata']['name']}-..."
            yield f"  kube-scheduler makes the claim {name} for {joined(sorted(self.backed))}; {WAY_OUT}"

    def _source(self, one: ExtendedResource) -> str:
        if one.device_class:
            how = "" if one.resource.startswith(extended_resources.CLASS_PREFIX) else ", by its extendedResourceName"
            return f"devices of DeviceClass {one.device_class}{how} ({joined(one.requests)})"
        device_class = extended_resources.class_of(one.resource, self.classes)
        if device_class is not None:
            return (
                f"but the feature gate {extended_resources.GATE}, with which DeviceClass "
                f"{device_class['metadata']['name']} would be behind it, is off: {switch_on([extended_resources.GATE])}"
            )
        if one.resource.startswith(extended_resources.CLASS_PREFIX):
            names = sorted(str(known["metadata"]["name"]) for known in self.classes)
            return (
                f"but there is no DeviceClass {one.resource.removeprefix(extended_resources.CLASS_PREFIX)}; "
                f"there {'are ' + some_of(names) if names else 'is none'}"
            )
        return f"but no DeviceClass has it as extendedResourceName{self._known()}: only a device plugin can offer it"

    def _known(self) -> str:
        names = sorted(
            f"{one['spec']['extendedResourceName']} of {one['metadata']['name']}"
            for one in self.classes
            if one["spec"].get("extendedResourceName")
        )
        return f" (there is {some_of(names)})" if names else ""
