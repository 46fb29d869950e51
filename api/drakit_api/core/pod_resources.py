"""What a pod needs: the most of each resource at any moment of its life, by what it and its containers say.

Init containers run one after the other, sidecars (init containers that restart always) stay, ordinary containers run
side by side. The scheduler compares whole numbers and quotas compare exact quantities, so amounts are whatever can be
added and compared. Source: ``k8s.io/component-helpers`` ``resource/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, Self, TypeVar

from drakit_api.core.containers import is_sidecar

Side = Literal["requests", "limits"]

OF_PODS = ("cpu", "memory")


class Amount(Protocol):
    """A number or a quantity."""

    def __add__(self, other: Self, /) -> Self: ...
    def __gt__(self, other: Self, /) -> bool: ...


A = TypeVar("A", bound=Amount)


def is_of_pods(name: str) -> bool:
    """Say whether a pod as a whole can ask for a resource (``IsSupportedPodLevelResource``)."""
    return name in OF_PODS or name.startswith("hugepages-")


def needed(
    spec: Mapping[str, Any],
    side: Side,
    amounts: Callable[[Mapping[str, Any] | None], Mapping[str, A]],
    *,
    unset: Mapping[str, A] | None = None,
    overhead: bool = True,
) -> dict[str, A]:
    """Return ``requests`` or ``limits`` of a pod: its own, of its containers what it does not say, and its overhead.

    ``amounts`` reads a list of resources; ``unset`` is what a container counts for that does not say how much.
    Of limits, overhead counts where there are any (``PodRequests``, ``PodLimits``).
    """
    total = of_containers(spec, side, amounts, unset=unset)
    own = amounts((spec.get("resources") or {}).get(side))
    total |= {name: amount for name, amount in own.items() if is_of_pods(name)}
    if overhead:
        more = amounts(spec.get("overhead"))
        counts = more if side == "requests" else [name for name in more if name in total and _is_some(total[name])]
        add(total, {name: more[name] for name in counts})
    return total


def of_containers(
    spec: Mapping[str, Any],
    side: Side,
    amounts: Callable[[Mapping[str, Any] | None], Mapping[str, A]],
    *,
    unset: Mapping[str, A] | None = None,
) -> dict[str, A]:
    """Return the same of the containers alone (``AggregateContainerRequests``)."""

    def amounts_of(container: Mapping[str, Any]) -> dict[str, A]:
        return {**(unset or {}), **amounts((container.get("resources") or {}).get(side))}

    running: dict[str, A] = {}
    for container in spec.get("containers") or ():
        add(running, amounts_of(container))
    sidecars: dict[str, A] = {}
    highest: dict[str, A] = {}
    for container in spec.get("initContainers") or ():
        need = amounts_of(container)
        if is_sidecar(container):
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


def _is_some(amount: Amount) -> bool:
    """Say whether an amount is above zero: only then it is more when doubled."""
    return amount + amount > amount


def _raise(total: dict[str, A], least: Mapping[str, A]) -> None:
    for name, value in least.items():
        if name not in total or value > total[name]:
            total[name] = value
