"""Amounts of named resources (k8s.io/apiserver/pkg/quota/v1/resources.go)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from drakit_api.quantity import ZERO, Quantity

Amounts = dict[str, Quantity]
NOTHING, ONE = ZERO, Quantity.of(1)


def parsed(given: Mapping[str, Any] | None) -> Amounts:
    """Parse amounts from JSON, which has been validated."""
    return {name: Quantity.parse(value) for name, value in (given or {}).items()}


def texts(amounts: Amounts) -> dict[str, str]:
    """Convert amounts to JSON."""
    return {name: str(value) for name, value in amounts.items()}


def added(one: Amounts, other: Amounts) -> Amounts:
    """Add amounts by name; a name that only one side has counts as it is."""
    total = dict(one)
    for name, value in other.items():
        total[name] = total[name] + value if name in total else value
    return total


def highest(one: Amounts, other: Amounts) -> Amounts:
    """Take the larger amount of each name."""
    return {name: max(one.get(name, ZERO), other.get(name, ZERO)) for name in {**one, **other}}


def increase(new: Amounts, old: Amounts) -> Amounts:
    """Compute by how much amounts have grown; those that became less count as zero."""
    return {name: max(value - old.get(name, ZERO), ZERO) for name, value in new.items()}


def masked(amounts: Amounts, names: Collection[str]) -> Amounts:
    """Select the amounts of these names."""
    return {name: value for name, value in amounts.items() if name in names}


def nonzero(amounts: Amounts) -> Amounts:
    """Drop the amounts that are zero."""
    return {name: value for name, value in amounts.items() if value.nanos}


def beyond(amounts: Amounts, limits: Amounts) -> list[str]:
    """List the names whose amount exceeds their limit."""
    return [name for name, value in amounts.items() if name in limits and value > limits[name]]


def shown(amounts: Amounts, names: Iterable[str]) -> str:
    """Print the amounts of some names as messages do."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names) if name in amounts)
