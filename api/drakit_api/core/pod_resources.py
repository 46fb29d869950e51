"""What the containers of a pod need together: the most of each resource at any moment of the pod's life.

Init containers run one after the other, sidecars (init containers that restart always) stay, ordinary containers run
side by side. The scheduler compares whole numbers and quotas compare exact quantities, so amounts are whatever can be
added and compared. Source: ``AggregateContainerRequests`` (``k8s.io/component-helpers`` ``resource/helpers.go``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeVar


class Amount(Protocol):
    """A number or a quantity."""

    def __add__(self, other: Self, /) -> Self: ...
    def __gt__(self, other: Self, /) -> bool: ...


A = TypeVar("A", bound=Amount)


def needed_together(
    spec: Mapping[str, Any], amounts_of: Callable[[Mapping[str, Any]], Mapping[str, A]]
) -> dict[str, A]:
    """Return the amount of each resource that all containers of a pod's spec need; ``amounts_of`` says it of one."""
    running: dict[str, A] = {}
    for container in spec.get("containers") or ():
        add(running, amounts_of(container))
    sidecars: dict[str, A] = {}
    highest: dict[str, A] = {}
    for container in spec.get("initContainers") or ():
        need = dict(amounts_of(container))
        if container.get("restartPolicy") == "Always":
            add(running, need)
            add(sidecars, need)
            _raise(highest, sidecars)
        else:
            add(need, sidecars)
            _raise(highest, need)
    _raise(running, highest)
    return running


def add(total: dict[str, A], more: Mapping[str, A]) -> None:
    """Add ``more`` to ``total``, in place."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def _raise(total: dict[str, A], least: Mapping[str, A]) -> None:
    for name, value in least.items():
        if name not in total or value > total[name]:
            total[name] = value
