"""Outer bounds are longer than the inner ones, whose messages say what went wrong."""

from __future__ import annotations

import pytest

from drakit_kind import bounds
from drakit_kind.cluster import COMPONENTS, Component

EVERYTHING = frozenset(COMPONENTS)
CONTROL_PLANE: frozenset[Component] = frozenset({"apiserver", "controllers", "scheduler"})


def test_a_real_cluster_may_take_what_its_parts_may_take() -> None:
    server = 2 * bounds.PROGRAM_START  # etcd first
    assert bounds.cluster_start(CONTROL_PLANE) > server + bounds.PROGRAM_START
    node = 2 * bounds.NODE_PROGRAM_START + 2 * bounds.IMAGE_IMPORT + bounds.NODES_READY
    undoing = bounds.UNDO_WAIT + 2 * bounds.PREMISES_LEAVE
    assert bounds.cluster_start(EVERYTHING) > undoing + server + node
    assert bounds.cluster_stop(EVERYTHING) > 4 * bounds.PROGRAM_STOP + 2 * bounds.NODE_PROGRAM_STOP


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_restart_may_take_as_long_as_failing_and_going_back_after_another_one(component: Component) -> None:
    start = bounds.NODE_PROGRAM_START if component == "kubelet" else bounds.PROGRAM_START
    kubelets = 2 * (bounds.NODE_PROGRAM_START + bounds.NODES_READY)
    assert bounds.restart(component, EVERYTHING) > 2 * start + kubelets


def test_an_embedded_cluster_that_hangs_is_given_up_after_a_minute() -> None:
    assert bounds.cluster_start(frozenset()) == 60


@pytest.mark.parametrize("nodes", [0, 1, 300, 1000])
def test_bounds_grow_with_the_nodes_that_drivers_run_on(nodes: int) -> None:
    measured = 0.13 * nodes  # of 1000, on two idle cores; of fewer each takes less
    assert bounds.driver_start(nodes) >= 30 + 2 * measured
    assert bounds.cluster_start(frozenset(), nodes) > bounds.driver_start(nodes)
