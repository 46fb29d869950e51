"""The containers of a pod, which stand in several lists of its spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Object = dict[str, Any]

# In the order of podutil.VisitContainers (k8s.io/kubernetes/pkg/api/pod/util.go).
ALL = ("initContainers", "containers", "ephemeralContainers")
# Those that a pod has from its beginning.
LASTING = ("initContainers", "containers")


def of(spec: Object, lists: Sequence[str] = ALL) -> Iterator[Object]:
    """The containers in these lists."""
    for name in lists:
        yield from spec.get(name) or ()


def placed(spec: Object, path: str, lists: Sequence[str] = ALL) -> Iterator[tuple[str, Object]]:
    """The same, each with its path below that of the spec."""
    for name in lists:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{path}.{name}[{index}]", container
