"""What commands of ``drakit driver`` that need devices have in common: declared once, read into one dataclass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drakit_driver.cli.profile_completion import complete_profile

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.layouts.pools import Pool

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class DriverOptions:
    """Which devices, on which nodes, and for which Kubernetes; a command with more options has a subclass."""

    profile: str
    layout: Path | None
    gpus: int | None
    nodes: tuple[str, ...]
    driver_name: str | None
    pool_name: str | None
    emulated_version: str
    feature_gates: str

    def pools(self) -> list[Pool]:
        """Return the pools that are asked for. Raises ``PoolError``."""
        from drakit_driver.profiles.reading.catalog import build

        return build(
            self.profile,
            nodes=self.nodes,
            driver_name=self.driver_name,
            gpus=self.gpus,
            pool_name=self.pool_name,
            layout=self.layout,
        )

    def gates(self) -> FeatureGates:
        """Return the gates of that Kubernetes; a wrong one ends the command with status 2."""
        from drakit_api.features import FeatureGateError, FeatureGates, parse_gates

        try:
            return FeatureGates(self.emulated_version, parse_gates(self.feature_gates))
        except FeatureGateError as error:
            raise click.UsageError(str(error)) from None


def driver_options(command: F) -> F:
    """Declare the options of ``DriverOptions``."""
    for decorate in (
        click.option("--feature-gates", default="", metavar="A=true,B=false", help="Feature gates of that Kubernetes."),
        click.option("--emulated-version", default="1.37", metavar="V", show_default=True, help="Kubernetes version."),
        click.option("--pool", "pool_name", metavar="NAME", help="Name of a TPU pool. [default: the profile's name]"),
        click.option("--driver-name", metavar="NAME", help="Publish as this driver. [default: the real driver's name]"),
        click.option(
            "--node", "nodes", multiple=True, metavar="NAME", help="A node; repeat for more. [default: node-1 ...]"
        ),
        click.option(
            "--gpus", type=click.IntRange(1, 64), metavar="N", help="GPUs of each node. [default: 1; dgx-a100: 8]"
        ),
        click.argument("layout", metavar="[FILE|-]", required=False, type=click.Path(path_type=Path, allow_dash=True)),
        click.argument("profile", shell_complete=complete_profile),
    ):
        command = decorate(command)
    return command


@contextlib.contextmanager
def pool_errors() -> Iterator[None]:
    """Turn a ``PoolError`` into lines on stderr, each ``Error: ...``, and exit status 1."""
    from drakit_api.layouts.pools import PoolError

    try:
        yield
    except PoolError as error:
        raise click.ClickException("\nError: ".join(error.errors)) from None
