"""Which cluster a command is about: its options, and what is said if there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import ClusterHome, named_homes

if TYPE_CHECKING:
    from drakit_kind.local.backend import LocalCluster

F = TypeVar("F", bound=Callable[..., Any])


def _names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [home.directory.name for home in named_homes() if home.directory.name.startswith(incomplete)]


name_option = click.option(
    "--name",
    default="default",
    show_default=True,
    metavar="NAME",
    shell_complete=_names,
    help="Which cluster; several can run side by side.",
)


def cluster_options(command: F) -> F:
    """Add the options that choose a cluster which was started before: ``--name`` and ``--data-dir``."""
    data_dir = click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The --data-dir that the cluster was started with, if any.",
    )
    return name_option(data_dir(command))


def home_of(name: str, data_dir: Path | None) -> ClusterHome:
    """Return the directory of a cluster, whether it exists or not."""
    return ClusterHome(data_dir) if data_dir else ClusterHome.of(name)


def running_cluster(name: str, data_dir: Path | None) -> LocalCluster:
    """Return a cluster that runs; raises ``ClusterError`` with what to do if it does not."""
    from drakit_kind.local.backend import LocalCluster

    home = home_of(name, data_dir)
    running = LocalCluster.running(home)
    if running is None:
        raise ClusterError(f"cluster {name} does not run{_ended(home) or others(home)}")
    return running


def _ended(home: ClusterHome) -> str:
    """Say what to do about a cluster that exists but does not run; "" if there is none."""
    if not home.spec_file.exists():
        return ""
    from drakit_kind.cli.cluster.endings import lines
    from drakit_kind.processes.supervision import endings

    what, again = ("it ended", "continues it") if home.was_ready else ("it was never ready", "starts it anew")
    told = (
        f"; {what}: `drakit cluster logs` says why, and `drakit cluster up`, each with the same --name or --data-dir, "
        f"{again} ({home.directory})"
    )
    return "\n".join([told, *lines(endings(home.endings))])


def others(home: ClusterHome) -> str:
    """Return which clusters there are instead of the one in ``home``, as the end of a sentence."""
    names = [other.directory.name for other in named_homes() if other.directory != home.directory]
    hint = f"there are: {', '.join(names)}" if names else "start one with `drakit cluster up`"
    return f"; {hint} ({home.directory} was looked at)"
