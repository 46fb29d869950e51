"""The containers of a pod, which stand in several lists of its spec, walked in one order everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api.kubernetes_objects import Object, ReadOnlyObject

# In the order of podutil.VisitContainers (k8s.io/kubernetes/pkg/api/pod/util.go).
ALL = ("initContainers", "containers", "ephemeralContainers")
# The containers that a pod has from the start; ephemeral ones come later.
LASTING = ("initContainers", "containers")


def containers_of(spec: Object, lists: Sequence[str] = ALL) -> Iterator[Object]:
    """Walk the containers in these lists of a pod's spec."""
    for name in lists:
        yield from spec.get(name) or ()


def is_sidecar(container: ReadOnlyObject) -> bool:
    """Say whether an init container goes on running beside the others."""
    return bool(container.get("restartPolicy") == "Always")


def placed_containers(spec: Object, path: str, lists: Sequence[str] = ALL) -> Iterator[tuple[str, Object]]:
    """Walk the same, each with its path, which begins with ``path`` of the spec: ``spec.containers[0]``."""
    for name in lists:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{path}.{name}[{index}]", container
