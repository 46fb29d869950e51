"""Which rules belong to which kind."""

from __future__ import annotations

from drakit_embedded.apiserver.registry import (
    cluster_kinds,
    dra,
    limit_range_rules,
    pods,
    pool_status,
    quota_rules,
    workloads,
)
from drakit_embedded.apiserver.registry.strategy import Strategy


def strategies() -> dict[tuple[str, str], Strategy]:
    """Rule sets by (group, plural); kinds that are not in it have no rules of their own."""
    return {
        **cluster_kinds.STRATEGIES,
        **pods.STRATEGIES,
        **quota_rules.STRATEGIES,
        **limit_range_rules.STRATEGIES,
        **workloads.STRATEGIES,
        **pool_status.STRATEGIES,
        **dra.strategies(),
    }


def older(version: str) -> dict[tuple[str, str], Strategy]:
    """Rule sets for requests in a version of resource.k8s.io before v1."""
    return dra.strategies(version)
