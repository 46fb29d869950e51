"""``drakit kubelet``: simulated kubelets against any API server."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drakit_client.processes.process_logging import logs_as
from drakit_embedded.serving import descriptors

if TYPE_CHECKING:
    from drakit_client.connection import Connection
    from drakit_embedded.kubelet import KubeletSimulator, NodeSpec, Timings

log = logging.getLogger("kubelet")


@click.group()
def kubelet() -> None:
    """Simulate kubelets for any number of nodes of any cluster."""


@kubelet.command()
@logs_as("kubelet")
@click.option("--kubeconfig", type=click.Path(dir_okay=False), help="Default: $KUBECONFIG, then ~/.kube/config.")
@click.option("--context", help="Context of the kubeconfig to use.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="How many nodes.")
@click.option("--name-prefix", default="node-", show_default=True, help="Nodes are called PREFIX1, PREFIX2, ...")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label of every node; repeat for more.")
@click.option(
    "--root",
    required=True,
    type=click.Path(file_okay=False, writable=True),
    help="Directory for the nodes' directories: ROOT/NODE/plugins_registry, ROOT/NODE/plugins, ROOT/NODE/cdi.",
)
@click.option(
    "--cdi-dir",
    "cdi_directories",
    multiple=True,
    type=click.Path(file_okay=False),
    help="A directory with CDI specifications for all nodes, beside each node's own; repeat for more.",
)
@click.option("--port", default=0, help="Port on loopback for container logs and exec. [default: any free one]")
@click.option(
    "--client-ca-file",
    type=click.Path(exists=True, dir_okay=False),
    callback=lambda _context, _option, path: _checked_authorities(path),
    help="Whoever shows a client certificate signed by an authority in this file may read logs and execute commands.",
)
@click.option("--heartbeat", default=10.0, show_default=True, help="Seconds between lease renewals of a node; 0: none.")
@click.option("--wiping-delay", default=30.0, show_default=True, help="Seconds until a lost driver's slices go.")
def run(
    kubeconfig: str | None,
    context: str | None,
    nodes: int,
    name_prefix: str,
    labels: tuple[str, ...],
    root: str,
    cdi_directories: tuple[str, ...],
    port: int,
    client_ca_file: str | None,
    heartbeat: float,
    wiping_delay: float,
) -> None:
    """Run nodes until interrupted: pods on them become Running without any container.

    Drivers register in ROOT/NODE/plugins_registry as with a real kubelet. Nodes and pods stay in the API server when
    this ends, and are taken over when it is started again on the same root directory.

    A simulated container runs for ever, unless its command is understood (true, false, sleep N, exit N, echo, env; also
    in sh -c) or the pod has the annotation drakit.dev/exit-after: 2s, with drakit.dev/exit-code: "1" for a failure.

    Logs, exec and attach are served over https, for the bearer token in $DRAKIT_KUBELET_TOKEN and for client
    certificates of --client-ca-file; without both nobody can use them. A kube-apiserver shows the certificate that its
    --kubelet-client-certificate names. ROOT/.kubelet.crt is the certificate of the port itself, for the API server's
    --kubelet-certificate-authority: drakit's own sends the token to nobody else.
    """
    import asyncio

    from drakit_embedded.kubelet import NodeSpec, Timings

    try:
        specs = [NodeSpec(f"{name_prefix}{number}", labels=_labels(labels)) for number in range(1, nodes + 1)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    descriptors.raise_limit()
    client_ca = Path(client_ca_file) if client_ca_file else None
    timings = Timings(heartbeat=heartbeat, wiping=wiping_delay)
    options = _Options(Path(root), [Path(d) for d in cdi_directories], port, client_ca, timings)
    asyncio.run(_run(kubeconfig, context, specs, options))


@dataclass(frozen=True)
class _Options:
    root: Path
    cdi_directories: list[Path]
    port: int
    client_ca_file: Path | None
    timings: Timings


def _checked_authorities(path: str | None) -> str | None:
    """Refuse a file without certificates before anything is made."""
    import ssl

    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        raise click.BadParameter(f"{path}: no PEM certificates in it: {error}") from None
    return path


def _labels(pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise ValueError(f"--label {pair}: write KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def _simulator(connection: Connection, specs: list[NodeSpec], options: _Options) -> KubeletSimulator:
    import os
    import secrets

    from drakit_embedded.kubelet import KubeletSimulator

    return KubeletSimulator(
        connection,
        specs,
        options.root,
        token=os.environ.get("DRAKIT_KUBELET_TOKEN") or secrets.token_urlsafe(32),
        timings=options.timings,
        cdi_directories=options.cdi_directories,
        port=options.port,
        client_ca_file=options.client_ca_file,
    )


async def _run(
    kubeconfig: str | None,
    context: str | None,
    specs: list[NodeSpec],
    options: _Options,
) -> None:
    import asyncio

    from drakit_client.connection import Connection
    from drakit_client.errors import ConfigurationError
    from drakit_client.processes.readiness import announce_ready, told_to_stop
    from drakit_embedded.kubelet.claims import CheckpointError

    try:
        connection = await Connection.from_kubeconfig(kubeconfig, context=context, user_agent="drakit-kubelet")
    except ConfigurationError as error:
        raise click.ClickException(f"kubeconfig: {error}") from error
    simulator = _simulator(connection, specs, options)
    interrupted = told_to_stop()
    starting = asyncio.create_task(simulator.start())
    waiting = asyncio.create_task(interrupted.wait())
    try:
        await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting
            announce_ready()
            log.info("%d nodes are Ready: %s ... %s", len(specs), specs[0].name, specs[-1].name)
        await interrupted.wait()
    except (CheckpointError, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        starting.cancel()
        waiting.cancel()
        await asyncio.gather(starting, waiting, return_exceptions=True)
        await simulator.stop()
