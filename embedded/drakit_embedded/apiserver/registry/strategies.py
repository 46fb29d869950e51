"""Which rules belong to which kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry import (
    cluster_kinds,
    dra,
    limit_range_rules,
    migration_rules,
    pods,
    pool_status,
    quota_rules,
    volumes,
    workloads,
)
from drakit_embedded.apiserver.registry.admission_kinds import strategies as admission_kinds
from drakit_embedded.apiserver.registry.autoscalers import strategy as autoscalers
from drakit_embedded.apiserver.registry.defaulting import gated_fields
from drakit_embedded.apiserver.registry.defaulting.structs import set_defaults
from drakit_embedded.apiserver.registry.definitions import strategy as definitions
from drakit_embedded.apiserver.registry.services import strategy as services
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme import kinds, structures
from drakit_embedded.apiserver.scheme.kinds import Kind

Step = Callable[[Object, Cluster], None]
Change = Callable[[Object, Object, Cluster], None]


def strategies() -> dict[tuple[str, str], Strategy]:
    """Collect the strategies by (group, plural); a kind without one has no rules."""
    known = {
        **cluster_kinds.STRATEGIES,
        **admission_kinds.STRATEGIES,
        **autoscalers.STRATEGIES,
        **definitions.STRATEGIES,
        **pods.STRATEGIES,
        **quota_rules.STRATEGIES,
        **limit_range_rules.STRATEGIES,
        **migration_rules.STRATEGIES,
        **services.STRATEGIES,
        **volumes.STRATEGIES,
        **workloads.STRATEGIES,
        **pool_status.STRATEGIES,
        **dra.strategies(),
    }
    return known | dict(_completed(known))


def of_older(kind: Kind, newest: Strategy) -> Strategy:
    """Build the strategy of an older version of a kind, given that of the version in which it is stored."""
    if (kind.group, kind.plural) in autoscalers.STRATEGIES:
        return autoscalers.of_v1(newest)
    return dra.strategies(kind.version)[kind.group, kind.plural]


def _completed(known: Mapping[tuple[str, str], Strategy]) -> Iterator[tuple[tuple[str, str], Strategy]]:
    """Extend the strategies by what follows from the kind's Go type: its defaults, and its fields with gates."""
    for kind in kinds.all_kinds():
        key = kind.group, kind.plural
        struct = structures.others().kinds.get(kind.api_version, {}).get(kind.kind)
        if kind.plural == "events":
            # Those of both groups are stored in one form.
            struct = "core/v1.Event"
        if struct is not None:
            yield key, _with_type(known.get(key, Strategy()), struct)


def _with_type(strategy: Strategy, struct: str) -> Strategy:
    # Pods are written so often that ``pods`` sets their defaults in Python; no update may add what is dropped here.
    if struct == "core/v1.Pod":
        return replace(strategy, prepare_create=partial(_prepare_create, struct, strategy.prepare_create))
    return replace(
        strategy,
        default=partial(_default, struct, strategy.default),
        prepare_create=partial(_prepare_create, struct, strategy.prepare_create),
        prepare_update=partial(_prepare_update, struct, strategy.prepare_update),
    )


def _default(struct: str, more: Step, obj: Object, cluster: Cluster) -> None:
    set_defaults(obj, struct, cluster.gates)
    more(obj, cluster)


def _prepare_create(struct: str, more: Step, obj: Object, cluster: Cluster) -> None:
    gated_fields.drop(obj, None, struct, cluster.gates)
    more(obj, cluster)


def _prepare_update(struct: str, more: Change, new: Object, old: Object, cluster: Cluster) -> None:
    gated_fields.drop(new, old, struct, cluster.gates)
    more(new, old, cluster)
