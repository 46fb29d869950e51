"""What a user reads on stderr while a cluster takes its time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from drakit_client.processes.counts import counted
from drakit_client.processes.ending_signals import INTERRUPTED_STATUS
from drakit_kind.cluster import COMPONENTS, ClusterSpec, Report, silent

# From these numbers on (nodes with drivers, all nodes) a start takes more than two seconds.
_MANY_DRIVEN_NODES, _MANY_NODES = 25, 2000


def progress(spec: ClusterSpec) -> Report:
    """Return what prints each step of a start to stderr, or nothing where a start is too quick to be read about.

    A few simulated nodes take less than a second; real components take seconds each, and so do many nodes.
    """
    if not spec.real and spec.driven_nodes < _MANY_DRIVEN_NODES and len(spec.nodes) < _MANY_NODES:
        return silent
    tell(f"starting {what_is_slow(spec)}")
    return lambda text: tell(f"  {text}")


def what_is_slow(spec: ClusterSpec) -> str:
    """Name the part of a cluster that takes long to start and to stop."""
    if not spec.real:
        return counted(len(spec.nodes), "node")
    return f"Kubernetes {spec.version}: " + ", ".join(name for name in COMPONENTS if name in spec.real)


def tell(text: str) -> None:
    """Print a line of progress to stderr."""
    click.echo(text, err=True)


@contextmanager
def interrupted(text: str) -> Iterator[None]:
    """On Ctrl-C within the block, say what continues in the background, and end with status 130."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"interrupted; {text}")
        sys.exit(INTERRUPTED_STATUS)
