"""How commands read a cluster: options that say which one, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drakit_client.processes.ending_signals import ended_at_once_by_ctrl_c
from drakit_client.processes.interruption import ended_by_ctrl_c

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_client.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
_T = TypeVar("_T")
# The values of a command's options, by name.
Options = dict[str, Any]

_SILENCE = 2.0


def cluster_options(command: F) -> F:
    """Declare the options that ``connected`` needs."""
    options = (
        click.option(
            "--kubeconfig", type=click.Path(dir_okay=False), help="Default: $KUBECONFIG, then ~/.kube/config."
        ),
        click.option("--context", help="Context of the kubeconfig to use."),
        click.option("--feature-gates", default="", metavar="A=true,B=false", help="Gates of the cluster."),
        click.option("--emulated-version", metavar="V", help="Version of its scheduler. [default: the server's]"),
    )
    for decorate in reversed(options):
        command = decorate(command)
    return command


async def connected(
    reading: Callable[[Connection, FeatureGates], Coroutine[Any, Any, _T]], options: Options, command: str
) -> _T:
    """Read from the cluster that the options name, with its gates. Raises what ``cluster_errors`` tells."""
    import asyncio

    from drakit_allocator.inputs.live_objects import server_version
    from drakit_api.features import FeatureGates, parse_gates
    from drakit_client.connection import Connection

    connection = await Connection.from_kubeconfig(
        options["kubeconfig"], context=options["context"], user_agent=f"drakit-{command}"
    )
    overrides = parse_gates(options["feature_gates"])
    loop = asyncio.get_running_loop()
    told = loop.call_later(_SILENCE, lambda: click.echo(f"reading from {connection.server} ...", err=True))
    async with connection:
        try:
            version = options["emulated_version"] or await server_version(connection)
            return await reading(connection, FeatureGates(version, overrides))
        finally:
            told.cancel()


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn the errors of reading a cluster into messages, and Ctrl-C into its exit status."""
    with ended_at_once_by_ctrl_c():
        from drakit_allocator.inputs.live_objects import ClusterError
        from drakit_api.features import FeatureGateError
        from drakit_client.errors import ConfigurationError

    try:
        with ended_by_ctrl_c():
            yield
    except ConfigurationError as error:
        raise click.ClickException(f"{error}; name a file with --kubeconfig") from error
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    except FeatureGateError as error:
        raise click.UsageError(str(error)) from error
