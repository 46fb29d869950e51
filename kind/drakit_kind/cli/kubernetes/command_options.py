"""What several commands of ``drakit kubernetes`` take: versions and names that the shell completes, and places."""

from __future__ import annotations

from pathlib import Path

import click

from drakit_kind.kubernetes.assets import DIRECTORY_VARIABLE
from drakit_kind.kubernetes.releases import pinned_releases


def complete_version(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the pinned versions that begin with what is typed."""
    return [release.version for release in pinned_releases() if release.version.startswith(incomplete)]


def complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of binaries that begin with what is typed."""
    names = {name for release in pinned_releases() for name in release.names}
    return sorted(name for name in names if name.startswith(incomplete))


version_argument = click.argument("version", shell_complete=complete_version)
cache_option = click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="DRAKIT_CACHE",
    show_envvar=True,
    help="Where binaries are kept.  [default: drakit in $XDG_CACHE_HOME or ~/.cache]",
)
directory_option = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    envvar=DIRECTORY_VARIABLE,
    show_envvar=True,
    help="A directory with binaries of your own, which come first.",
)
