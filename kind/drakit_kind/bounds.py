"""How long things may take, in seconds, where one bound is inside another.

What ends by an inner bound says what was waited for, with the end of the right log; an outer one can only say that the
time is up. So outer bounds are the sums of what is in them, and all of them stand here.
"""

from __future__ import annotations

from collections.abc import Collection

from drakit_kind.cluster import COMPONENTS, Component

PROGRAM_START = 60.0
PROGRAM_STOP = 20.0
NODE_PROGRAM_START = 90.0
NODE_PROGRAM_STOP = 10.0
IMAGE_IMPORT = 60.0
NODES_READY = 60.0
# Seconds to wait for another process that removes what an earlier cluster has left.
UNDO_WAIT = 60.0
# Control groups, interfaces and the guard, one after the other.
PREMISES_LEAVE = 60.0

_OURS_START = 60.0
# 300 nodes with a driver on each are there after 25 s, and 1000 after 130; a machine may be busy with something else.
_DRIVEN_NODE_START = 0.5
_OURS_STOP = 20.0
_DRIVER_START = 30.0
_IMAGES = 2
# etcd goes with the API server. Controllers, scheduler and nodes start at once, but may stop one after the other.
_PROGRAMS: dict[Component, int] = {"apiserver": 2, "controllers": 1, "scheduler": 1}
# An earlier cluster in the same directory, and one that was killed together with its guard.
_UNDO_OTHERS = UNDO_WAIT + 2 * PREMISES_LEAVE
_NODES_START = _UNDO_OTHERS + 2 * NODE_PROGRAM_START + _IMAGES * IMAGE_IMPORT + NODES_READY
_NODES_STOP = 2 * NODE_PROGRAM_STOP + PREMISES_LEAVE


def cluster_start(real: Collection[Component], driven: int = 0) -> float:
    """Return the bound for a whole cluster with these real components, and with drivers on so many nodes."""
    programs = sum(_PROGRAMS.get(component, 0) for component in real)
    return _OURS_START + driven * _DRIVEN_NODE_START + programs * PROGRAM_START + ("kubelet" in real) * _NODES_START


def driver_start(nodes: int) -> float:
    """Return the bound for a driver to be registered and its slices published on so many nodes."""
    return _DRIVER_START + nodes * _DRIVEN_NODE_START


def cluster_stop(real: Collection[Component]) -> float:
    """Return the bound for a whole cluster with these real components to end in order."""
    programs = sum(_PROGRAMS.get(component, 0) for component in real)
    return _OURS_STOP + programs * PROGRAM_STOP + ("kubelet" in real) * _NODES_STOP


def restart(component: Component, real: Collection[Component]) -> float:
    """Return the bound for a restart, going back if it fails, and for another such restart that comes before."""
    return 2 * _restart_once(component, real) + 2 * max(_restart_once(other, real) for other in COMPONENTS)


def _restart_once(component: Component, real: Collection[Component]) -> float:
    if component not in real:
        return _OURS_STOP + _OURS_START
    if component == "kubelet":
        return NODE_PROGRAM_STOP + NODE_PROGRAM_START + NODES_READY
    return PROGRAM_STOP + PROGRAM_START
