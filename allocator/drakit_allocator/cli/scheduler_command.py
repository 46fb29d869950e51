"""``drakit scheduler``: the scheduler against any API server."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from drakit_allocator.cli.compat_option import compat_option
from drakit_client.processes.counts import counted
from drakit_client.processes.process_logging import logs_as

if TYPE_CHECKING:
    import asyncio

    from drakit_allocator.defects import Compat
    from drakit_allocator.scheduler import Scheduler
    from drakit_api.features import FeatureGates
    from drakit_client.connection import Connection

log = logging.getLogger("scheduler")


@click.group()
def scheduler() -> None:
    """Run the bundled scheduler against any API server."""


@scheduler.command()
@logs_as("scheduler")
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Default: $KUBECONFIG, then ~/.kube/config.")
@click.option("--context", help="Context of the kubeconfig to use.")
@click.option("--scheduler-name", default="default-scheduler", show_default=True, help="Schedule pods that name this.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Gates that differ from their defaults.")
@click.option("--emulated-version", default="1.37", show_default=True, help="Kubernetes version to behave like.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Take turns with other drakit schedulers; without it two of them can give out the same device.",
)
@compat_option
def run(
    kubeconfig: str | None,
    context: str | None,
    scheduler_name: str,
    feature_gates: str,
    emulated_version: str,
    leader_elect: bool,
    compat: Compat,
) -> None:
    """Schedule pods until interrupted.

    \b
    drakit scheduler run --scheduler-name patching --feature-gates DRAAdminControlledDeviceAttributes=true

    With that gate, devices are given out as ResourceSlicePatches make them look, and pods are evicted from devices that
    a patch taints with NoExecute. drakit install patches installs the kind; drakit get devices --patched shows them.

    With --compat safe it gives out devices without the known defects of Kubernetes' allocator. Of each pod for which
    that made a difference on its node, an event UpstreamDefectAvoided says which defect, with the devices and who
    holds them; of pods that do not fit for that reason, the event FailedScheduling.
    """
    import asyncio

    from drakit_api.features import FeatureGateError, FeatureGates, parse_gates

    try:
        gates = FeatureGates(emulated_version, parse_gates(feature_gates))
    except FeatureGateError as error:
        raise click.UsageError(str(error)) from error
    asyncio.run(_run(kubeconfig, context, scheduler_name, gates, leader_elect, compat))


async def _run(
    kubeconfig: str | None, context: str | None, name: str, gates: FeatureGates, leader_elect: bool, compat: Compat
) -> None:
    import asyncio

    from drakit_allocator.scheduler import Scheduler
    from drakit_client.errors import ConfigurationError
    from drakit_client.processes.readiness import told_to_stop

    try:
        connection = await _connect(kubeconfig, context)
    except ConfigurationError as error:
        raise click.ClickException(f"{error}; name a file with --kubeconfig") from error
    async with connection:
        process = Scheduler(connection, name=name, gates=gates, leader_election=leader_elect, compat=compat)
        task = asyncio.create_task(process.run())
        try:
            await _until_stopped(process, task, told_to_stop())
        except asyncio.CancelledError:
            log.info("stopped; scheduled %s", counted(process.counters.scheduled, "pod"))


async def _connect(kubeconfig: str | None, context: str | None) -> Connection:
    import os

    from drakit_client.connection import Connection
    from drakit_client.errors import ConfigurationError

    try:
        return await Connection.from_kubeconfig(kubeconfig, context=context, user_agent="drakit-scheduler")
    except ConfigurationError:
        if kubeconfig or context or "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise
        return Connection.in_cluster(user_agent="drakit-scheduler")


async def _until_stopped(process: Scheduler, task: asyncio.Task[None], stopping: asyncio.Event) -> None:
    """Wait until the scheduler is stopped, or ends. Raises ``CancelledError`` if stopped, or what made it fail."""
    import asyncio
    import gc

    from drakit_client.processes.readiness import announce_ready

    stopped = asyncio.create_task(stopping.wait())
    synced = asyncio.create_task(process.synced.wait())
    try:
        await asyncio.wait([task, stopped, synced], return_when=asyncio.FIRST_COMPLETED)
        if synced.done():
            log.info("ready")
            announce_ready()
            # Slices stay: looking through those of a thousand nodes for garbage takes a tenth of a second each time.
            gc.freeze()
            await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            task.cancel()
        await task
    finally:
        stopped.cancel()
        synced.cancel()
