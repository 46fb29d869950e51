"""The rows: data only. A story is named after what happens in it; what the phases are is said here.

Where the name of a row ends with a version, all components are of that version: Kubernetes' own, or ours behaving like
that minor version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_kind.cluster import Component
from e2e.matrix import prioritized_list
from e2e.matrix.row import Change, Phase, Row

OLDER = ("1.34.3", "1.35.4", "1.36.3")


def _switched(on: bool, components: Sequence[Component], *gates: str) -> list[Change]:
    return [Change(component=component, gates=dict.fromkeys(gates, on)) for component in components]


def _off(*components: Component, gates: Sequence[str]) -> list[Change]:
    return _switched(False, components, *gates)


def _on(*components: Component, gates: Sequence[str]) -> list[Change]:
    return _switched(True, components, *gates)


def _prioritized_list() -> Iterator[Row]:
    gate = ["DRAPrioritizedList"]
    phases = [
        Phase(name="on"),
        Phase(name="scheduler off", changes=_off("scheduler", gates=gate)),
        Phase(name="API server and controllers off too", changes=_off("apiserver", "controllers", gates=gate)),
        Phase(name="scheduler on", changes=_on("scheduler", gates=gate)),
        Phase(name="all on again", changes=_on("apiserver", "controllers", gates=gate)),
    ]
    common = {
        "feature": "DRAPrioritizedList",
        "source": "KEP-4816 (seeds 000, 001), Were upgrade and rollback tested?",
        "story": prioritized_list.rollout,
        "phases": phases,
        "gates": {"DRAPrioritizedList": True},
    }
    yield Row(name="prioritized-list-emulating-1.36", emulated_version="1.36", **common)
    for version in OLDER:
        yield Row(name=f"prioritized-list-{version}", version=version, **common)


ROWS: list[Row] = [*_prioritized_list()]
