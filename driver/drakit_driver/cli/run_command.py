"""``drakit driver run``: one driver instance as a process.

It logs one line per change of state and a line ``ready``; whoever started it may also be told by sd_notify.
SIGTERM and SIGINT stop it in order, a second one at once. The exit status is 1 if it could not start or broke.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drakit_client.processes.process_logging import logs_as
from drakit_driver.cli.options import DriverOptions, driver_options, pool_errors
from drakit_driver.reports import Problem

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.kubernetes_objects import Object
    from drakit_api.layouts.pools import Pool
    from drakit_client.connection import Connection
    from drakit_driver.driver import Driver, NodeDirectories

log = logging.getLogger("driver")

KUBELET_DIR = "/var/lib/kubelet"
CDI_DIR = "/var/run/cdi"
IN_CLUSTER = "in-cluster"
_VERSIONS = {
    "v1": "v1.DRAPlugin",
    "v1beta1": "v1beta1.DRAPlugin",
    "health-v1": "v1.DRAResourceHealth",
    "health-v1alpha1": "v1alpha1.DRAResourceHealth",
}


@dataclass(frozen=True, kw_only=True)
class RunOptions(DriverOptions):
    """The command line of ``drakit driver run``."""

    kubelet_dir: str
    cdi_dir: str | None
    kubeconfig: str | None
    served: tuple[str, ...]
    publish_only: bool
    publish: bool
    plugin_versions: str
    classes: bool
    cleanup: bool


@dataclass(frozen=True, kw_only=True)
class _Instance:
    """What the command line asks for, checked and resolved."""

    driver: str
    pools: list[Pool]
    classes: list[Object]
    nodes: list[NodeDirectories]
    gates: FeatureGates
    publish: bool
    versions: tuple[str, ...]
    kubeconfig: str | None
    cleanup: bool


@click.command()
@logs_as("driver")
@driver_options
@click.option(
    "--kubelet-dir",
    default=KUBELET_DIR,
    metavar="DIR",
    show_default=True,
    help="The kubelet's directory; {node} stands for the node's name.",
)
@click.option(
    "--cdi-dir",
    metavar="DIR",
    help=f"Where CDI specs go; may have {{node}} too.  [default: {CDI_DIR}, or cdi in another kubelet directory]",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help=f"Kubeconfig, or '{IN_CLUSTER}'.  [default: $KUBECONFIG, ~/.kube/config, or in-cluster inside of a pod]",
)
@click.option(
    "--serve", "served", multiple=True, metavar="NODE", help="Serve only this node's kubelet; repeat for more."
)
@click.option("--publish-only", is_flag=True, help="Publish slices and serve no kubelet.")
@click.option("--publish/--no-publish", default=True, help="Whether this process publishes slices.", show_default=True)
@click.option(
    "--plugin-versions",
    default=",".join(_VERSIONS),
    metavar="V,...",
    show_default=True,
    help="Versions to serve, in the order of preference; without health versions, both of those.",
)
@click.option("--classes/--no-classes", default=True, help="Whether to apply the DeviceClasses too.", show_default=True)
@click.option("--cleanup", is_flag=True, help="Remove slices, and classes that nobody needs, when stopped.")
def run(**given: Any) -> None:
    """Run the driver: publish the devices of a profile, and serve the kubelets of its nodes.

    \b
    drakit driver run dgx-a100 --node $(hostname)
    drakit driver run a100-40gb --node node-1 --node node-2 --kubelet-dir ~/.drakit/default/n/{node}
    drakit driver run tpu-v6e-4x4 --node a --node b --node c --node d --publish-only
    drakit driver run tpu-v6e-4x4 --node a --node b --node c --node d --serve b --no-publish

    In a pod, the node is $NODE_NAME if --node is not given. Multi-host devices need all nodes of their pool, in order,
    in each process; one process publishes them.
    """
    options = RunOptions(**given)
    if options.publish_only and (options.served or not options.publish):
        raise click.UsageError("--publish-only cannot be combined with --serve or --no-publish")
    options = replace(options, nodes=options.nodes or tuple(filter(None, [os.environ.get("NODE_NAME")])))
    if not options.nodes:
        raise click.UsageError("name the nodes with --node, or in $NODE_NAME")
    gates = options.gates()
    with pool_errors():
        instance = _instance(options, gates)
    asyncio.run(_run(instance))


def _instance(options: RunOptions, gates: FeatureGates) -> _Instance:
    from drakit_driver.profiles.reading import catalog

    pools = options.pools()
    driver = pools[0].driver
    return _Instance(
        driver=driver,
        pools=pools,
        classes=catalog.device_classes(options.profile, driver) if options.classes and options.publish else [],
        nodes=[] if options.publish_only else _directories(options),
        gates=gates,
        publish=options.publish,
        versions=_plugin_versions(options.plugin_versions),
        kubeconfig=options.kubeconfig,
        cleanup=options.cleanup,
    )


def _directories(options: RunOptions) -> list[NodeDirectories]:
    from drakit_driver.driver import NodeDirectories

    nodes, served, kubelet_dir, cdi_dir = options.nodes, options.served, options.kubelet_dir, options.cdi_dir
    if unknown := [node for node in served if node not in nodes]:
        raise click.UsageError(f"--serve {unknown[0]}: is none of the nodes {', '.join(nodes)}")
    if cdi_dir is None:
        cdi_dir = CDI_DIR if kubelet_dir == KUBELET_DIR else f"{kubelet_dir}/cdi"
    # Node names were checked to be DNS subdomains, so they are safe in a path.
    return [
        NodeDirectories(
            node, Path(kubelet_dir.replace("{node}", node)).absolute(), Path(cdi_dir.replace("{node}", node)).absolute()
        )
        for node in (served or nodes)
    ]


def _plugin_versions(text: str) -> tuple[str, ...]:
    """Parse ``v1,v1beta1`` as the kubelet knows them; an unknown name is advertised all the same, for tests."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise click.UsageError("--plugin-versions: name at least one version")
    versions = [_VERSIONS.get(name, name) for name in names]
    if not any(version.endswith("DRAResourceHealth") for version in versions):
        versions += [version for name, version in _VERSIONS.items() if name.startswith("health")]
    return tuple(versions)


async def _run(options: _Instance) -> None:
    from drakit_client.processes.readiness import told_to_stop

    stopping = told_to_stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # The second one ends it at once: removing slices may take long.
        loop.add_signal_handler(number, _stop_once, loop, stopping)
    connection = await _connect(options.kubeconfig)
    async with connection:
        await _drive(connection, options, stopping)


def _stop_once(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    stopping.set()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)


async def _connect(kubeconfig: str | None) -> Connection:
    from drakit_client.connection import Connection
    from drakit_client.errors import ConfigurationError

    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ
    try:
        if kubeconfig == IN_CLUSTER or (kubeconfig is None and in_pod):
            return Connection.in_cluster(user_agent="drakit-driver")
        return await Connection.from_kubeconfig(kubeconfig, user_agent="drakit-driver")
    except ConfigurationError as error:
        way_out = "give the kubeconfig of a cluster, such as `drakit cluster up` writes"
        raise click.ClickException(f"--kubeconfig: {error}; {way_out}") from None


async def _drive(connection: Connection, options: _Instance, stopping: asyncio.Event) -> None:
    from drakit_driver.driver import Driver
    from drakit_driver.plugin.sockets import PluginError
    from drakit_driver.preparing.checkpoint import CheckpointError

    try:
        driver = Driver(
            connection,
            options.driver,
            options.pools,
            gates=options.gates,
            nodes=options.nodes,
            publish=options.publish,
            classes=options.classes,
            plugin_versions=options.versions,
            report=_tell,
        )
        await driver.start()
    except (PluginError, CheckpointError) as error:
        raise click.ClickException(str(error)) from None
    try:
        await _until_stopped(driver, stopping)
    finally:
        await driver.stop(cleanup=options.cleanup)
        log.info("stopped")


def _tell(line: str) -> None:
    log.log(logging.WARNING if isinstance(line, Problem) else logging.INFO, "%s", line)


async def _until_stopped(driver: Driver, stopping: asyncio.Event) -> None:
    from drakit_client.processes.readiness import announce_ready

    stop = asyncio.create_task(stopping.wait())
    ready = asyncio.create_task(driver.ready(None))
    broken = asyncio.create_task(driver.broken())
    try:
        await asyncio.wait({stop, ready, broken}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            log.info("ready")
            announce_ready()
            await asyncio.wait({stop, broken}, return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            raise click.ClickException(str(broken.result()))
    finally:
        for task in (stop, ready, broken):
            task.cancel()
        await asyncio.gather(stop, ready, broken, return_exceptions=True)
