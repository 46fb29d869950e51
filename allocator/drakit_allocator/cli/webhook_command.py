"""``drakit webhook``: admission webhooks of drakit's own kinds."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drakit_client.processes.process_logging import logs_as

if TYPE_CHECKING:
    from drakit_allocator.webhook.serving import Served
    from drakit_api.features import FeatureGates
    from drakit_api.kubernetes_objects import Object
    from drakit_client.connection import Connection

log = logging.getLogger("webhook")
# The values of the options, by name.
Options = dict[str, Any]
_File = click.Path(dir_okay=False, path_type=Path)
# For taking back the registration.
_SECONDS = 10.0


@click.group()
def webhook() -> None:
    """Run admission webhooks of API kinds that are drakit's own."""


@webhook.command()
@logs_as("webhook")
@click.option("--listen", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT", help="0: any free port.")
@click.option("--tls-cert-file", type=_File, help="Certificate, with those that sign it. [default: a self-signed one]")
@click.option("--tls-key-file", type=_File, help="Its private key.")
@click.option("--register", is_flag=True, help="Have the API server call it, until it ends.")
@click.option(
    "--failure-policy",
    type=click.Choice(["Ignore", "Fail"]),
    default="Ignore",
    show_default=True,
    help="With --register: what becomes of a patch if the webhook does not answer.",
)
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Default: $KUBECONFIG, then ~/.kube/config.")
@click.option("--context", help="Context of the kubeconfig to use.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Gates of the cluster.")
@click.option("--emulated-version", metavar="V", help="Version of the cluster. [default: with --register the server's]")
def patches(**options: Any) -> None:
    """Refuse ResourceSlicePatches whose selectors do not compile.

    \b
    drakit webhook patches --register

    An API server judges a patch by its schema, which cannot compile the CEL expressions of selectors. Without the
    webhook a patch with a wrong one is stored, applies to no device, and gets an event that says why; with it whoever
    writes the patch gets the error, in the words that Kubernetes has for the selectors of a DeviceClass. Expressions
    that a patch has already are not judged again.

    --register tells the API server where the webhook is, by a URL that it must be able to reach: it is for API servers
    on this machine. Ctrl-C takes that back. If the webhook does not answer, patches are taken unchecked, since they may
    be what a cluster is to be repaired with; --failure-policy Fail refuses them. In a cluster the webhook runs as a
    pod: drakit install patches --webhook. Without --register, URL and certificate are printed for a configuration of
    your own.
    """
    import asyncio

    from drakit_allocator.inputs.live_objects import ClusterError
    from drakit_allocator.installation import InstallationError
    from drakit_allocator.webhook.serving import ServingError
    from drakit_api.features import FeatureGateError
    from drakit_client.errors import ConfigurationError

    try:
        asyncio.run(_run(options))
    except ConfigurationError as error:
        raise click.ClickException(f"{error}; name a file with --kubeconfig") from error
    except (ServingError, InstallationError, ClusterError) as error:
        raise click.ClickException(str(error)) from error
    except FeatureGateError as error:
        raise click.UsageError(str(error)) from error


async def _run(options: Options) -> None:
    from drakit_allocator.webhook.serving import Address, serving
    from drakit_client.processes.readiness import announce_ready, told_to_stop

    address = Address.parse(options["listen"])
    async with contextlib.AsyncExitStack() as stack:
        connection = await _connected(options, stack) if options["register"] else None
        gates = await _gates(connection, options)
        # Not before: until here Ctrl-C ends it at once, also if the API server does not answer.
        stopping = told_to_stop()
        files = options["tls_cert_file"], options["tls_key_file"]
        served = await stack.enter_async_context(serving(address, gates, *files))
        if connection is not None:
            await stack.enter_async_context(_registered(connection, served, options))
        else:
            _tell(served)
        log.info("ready")
        announce_ready()
        await stopping.wait()


async def _connected(options: Options, stack: contextlib.AsyncExitStack) -> Connection:
    from drakit_client.connection import Connection

    connection = await Connection.from_kubeconfig(
        options["kubeconfig"], context=options["context"], user_agent="drakit-webhook"
    )
    return await stack.enter_async_context(connection)


async def _gates(connection: Connection | None, options: Options) -> FeatureGates:
    from drakit_allocator.inputs.live_objects import server_version
    from drakit_api.features import NEWEST_EMULATED, FeatureGates, parse_gates

    version = options["emulated_version"]
    if version is None:
        version = NEWEST_EMULATED if connection is None else await server_version(connection)
    return FeatureGates(version, parse_gates(options["feature_gates"]))


@contextlib.asynccontextmanager
async def _registered(connection: Connection, served: Served, options: Options) -> AsyncIterator[None]:
    """Have the API server call the webhook while the block runs."""
    from drakit_allocator.installation import applied, removed
    from drakit_allocator.webhook.configuration import PATH, of_url

    wanted = of_url(served.address.url(PATH), served.certificate, options["failure_policy"])
    # Another process may have registered; the last one counts.
    others = await _others(connection, wanted)
    async for step in applied(connection, [wanted], dry_run=False, force=True):
        click.echo(f"{step.name} {step.done}: {served.address.url(PATH)}")
    for one in others:
        where = one.get("url") or "another webhook"
        click.echo(f"the registration of {where} was replaced: the API server no longer calls it", err=True)
    try:
        yield
    finally:
        if await _is_called(connection, wanted):
            async for step in removed(connection, [wanted], dry_run=False, seconds=_SECONDS):
                click.echo(f"{step.name} {step.done}")


async def _others(connection: Connection, wanted: Object) -> list[Object]:
    """Return whom the API server calls by now, other than this process."""
    from drakit_client.errors import REQUEST_FAILURES

    own = [each["clientConfig"] for each in wanted["webhooks"]]
    try:
        return [one for one in await _called(connection, wanted) if one not in own]
    except REQUEST_FAILURES:
        return []  # Whatever is the matter, registering fails, too, and says so.


async def _is_called(connection: Connection, wanted: Object) -> bool:
    """Tell whether the API server still calls this process, and not one that has registered later."""
    from drakit_client.errors import REQUEST_FAILURES

    try:
        stored = await _called(connection, wanted)
    except REQUEST_FAILURES as error:
        log.info("whether it is still registered cannot be told: %s", error)
        return False
    return stored == [each["clientConfig"] for each in wanted["webhooks"]]


async def _called(connection: Connection, wanted: Object) -> list[Object]:
    """Return whom the API server calls by the configuration of this name; nobody if there is none."""
    from drakit_client.errors import NotFound
    from drakit_client.resources import VALIDATING_WEBHOOKS

    try:
        stored = await connection.get(VALIDATING_WEBHOOKS, wanted["metadata"]["name"])
    except NotFound:
        return []
    return [each["clientConfig"] for each in stored.get("webhooks") or ()]


def _tell(served: Served) -> None:
    import base64

    from drakit_allocator.webhook.configuration import PATH

    click.echo(f"url: {served.address.url(PATH)}")
    click.echo(f"caBundle: {base64.b64encode(served.certificate).decode()}")
