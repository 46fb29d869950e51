"""The phases that rows have in common, and the changes between them in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from drakit_kind.cluster import Component
from e2e.matrix.row import Change, Phase


def off(*components: Component, gates: Sequence[str]) -> list[Change]:
    """Restarted with these gates off."""
    return [Change(component=component, gates=dict.fromkeys(gates, False)) for component in components]


def back(*components: Component) -> list[Change]:
    """As at the start of the row."""
    return [Change(component=component) for component in components]


def rollout(*gates: str, controllers: bool = False) -> list[Phase]:
    """On; off in the scheduler; off in the API server too, which gets all slices anew; on everywhere."""
    too: list[Component] = ["apiserver", "controllers"] if controllers else ["apiserver"]
    return [
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=gates)),
        Phase(
            name=f"API server{' and controllers' if controllers else ''} off too, slices wiped",
            changes=[*off(*too, gates=gates), *back("kubelet")],
        ),
        Phase(name="all on again", changes=back(*too, "scheduler")),
    ]


def in_the_scheduler(*gates: str) -> list[Phase]:
    """On; off in the scheduler; on again."""
    return [
        Phase(name="on"),
        Phase(name="scheduler off", changes=off("scheduler", gates=gates)),
        Phase(name="on again", changes=back("scheduler")),
    ]


def in_the_server(*gates: str, others: Sequence[Component] = ()) -> list[Phase]:
    """On; off in the API server and others at once; on again."""
    return [
        Phase(name="on"),
        Phase(name="off", changes=off("apiserver", *others, gates=gates)),
        Phase(name="on again", changes=back("apiserver", *others)),
    ]


def to(version: str, *components: Component) -> list[Change]:
    """Restarted as another version."""
    return [Change(component=component, version=version) for component in components]
