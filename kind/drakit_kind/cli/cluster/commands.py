"""``drakit cluster``: keep a cluster in the background and talk to it with kubectl."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from drakit_client.processes.counts import counted
from drakit_client.processes.ending_signals import INTERRUPTED_STATUS
from drakit_client.processes.output_option import Format, output_option
from drakit_driver.cli.profile_completion import complete_driver
from drakit_kind.cli.cluster.chosen import cluster_options, home_of, name_option, others, running_cluster
from drakit_kind.cli.cluster.progress import interrupted, progress, tell, what_is_slow
from drakit_kind.cli.cluster.up_options import DEFAULT_NODES, TPU_NODES, spec_of
from drakit_kind.cluster import (
    COMPONENTS,
    KUBERNETES_VERSION,
    ClusterError,
    ClusterSpec,
    Component,
    DriverSpec,
    cleaning_up_after,
    in_short,
)
from drakit_kind.clusters.backends import LOCAL
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.kubeconfig import KubeconfigError
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.interrupts import end_in_order_on_signals

if TYPE_CHECKING:
    from drakit_kind.local.backend import LocalCluster


@click.group()
def cluster() -> None:
    """Start, inspect and stop test clusters.

    \b
    drakit cluster up                                   a cluster with MIG GPUs and TPUs, in about a second
    kubectl get resourceslices,resourceclaims,pods -A
    drakit cluster list                                 all of them
    drakit cluster down
    """


@cluster.command()
@name_option
@click.option(
    "--cluster",
    "backend",
    type=click.Choice(LOCAL),
    default="embedded",
    show_default=True,
    help="embedded: drakit's own components, nothing to install. binaries: Kubernetes' own programs; for root also "
    "real kubelets with containers. For kind see `drakit kind --help`.",
)
@click.option(
    "--real",
    metavar="COMPONENT,...",
    help="Which of apiserver, controllers, scheduler and kubelet are Kubernetes' own.  [default: as --cluster says]",
)
@click.option(
    "--kubernetes-version",
    "version",
    default=KUBERNETES_VERSION,
    show_default=True,
    metavar="V",
    help="Version of real components (see `drakit kubernetes list`); others behave as its minor version.",
)
@click.option(
    "--kubernetes-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where real components are, e.g. an unpacked release.  [default: "
    "$DRAKIT_KUBERNETES_DIR, then what `drakit kubernetes build` made]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 5000),
    default=DEFAULT_NODES,
    show_default=True,
    metavar="K",
    help="Nodes, node-1 to node-K; drivers can be on up to 1000 of them, at some 10 MB and 0.1 s each. 0 with "
    "--no-scheduler: API server and controllers only.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1.  [default: a free one]")
@click.option("--token", help="Bearer token of the API server.  [default: a random one]")
@click.option(
    "--tls/--no-tls",
    default=True,
    show_default=True,
    help="Serve https with a self-signed certificate, which the kubeconfig trusts. Without it Python clients work, but "
    "kubectl sends its token over https only.",
)
@click.option(
    "--emulated-version", metavar="V", help="Behave as 1.34, 1.35, 1.36 or 1.37.  [default: as --kubernetes-version]"
)
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Feature gates of all components.")
@click.option(
    "--runtime-config",
    default="",
    metavar="GV=true,...",
    help="API versions to serve besides the default ones, e.g. resource.k8s.io/v1beta1=true.",
)
@click.option(
    "--driver",
    "drivers",
    multiple=True,
    metavar="PROFILE[@NODE,...]",
    shell_complete=complete_driver,
    help="A driver to run, see `drakit driver profiles`; may be repeated, on other nodes.  [default: dgx-a100 on each "
    f"node; of more than {TPU_NODES}, the last {TPU_NODES} form a tpu-v6e-4x4]",
)
@click.option(
    "--kubeconfig",
    "kubeconfig_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Add the cluster to this file.  [default: $KUBECONFIG or ~/.kube/config]",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the cluster's files here, also after `down`. Default: a private directory that `down` removes.",
)
@click.option("--scheduler/--no-scheduler", default=True, show_default=True, help="Start a scheduler, or none.")
@click.option("--no-driver", is_flag=True, help="Start no driver: no devices.")
def up(name: str, kubeconfig_file: Path | None, data_dir: Path | None, **options: Any) -> None:
    """Start a cluster in the background and point kubectl at it.

    With the defaults it has one node with a DGX A100 (8 GPUs, MIG) and four nodes that form a TPU v6e 4x4 pool.

    A cluster of this --name (or in this --data-dir) that ended, or whose data `down` left, is continued if it was ever
    ready: options that are not named are then as they were, whatever the defaults below say.

    \b
    drakit cluster up --nodes 2 --driver a30@node-1 --driver h100-80gb@node-2
    drakit cluster up --name old --emulated-version 1.34 --feature-gates DRAPartitionableDevices=true
    drakit cluster up --nodes 0 --no-scheduler            # API server and controllers, nothing else
    drakit cluster up --cluster binaries                  # Kubernetes' own programs
    drakit cluster up --real scheduler                    # only kube-scheduler is
    """
    from drakit_kind.clusters import kubeconfig

    end_in_order_on_signals()
    with readable_errors():
        home = home_of(name, data_dir)
        continues = home.was_ready
        spec = spec_of({"name": name, **options}, _named({"name": name, **options}), home)
        _refuse_layouts(spec.drivers, home)
        path = kubeconfig_file or kubeconfig.default_path()
        running = _start_and_tell(spec, home, path)
    seconds = f"{running.ready_seconds:.2f} s"
    click.echo(f"cluster {spec.name} is ready after {seconds}: {running.url}, {counted(len(spec.nodes), 'node')}")
    if continues:
        click.echo(f"  it continues what was in {home.directory}; options that were not named are those of before")
    for driver in spec.drivers:
        click.echo(f"  {driver.profile} on {in_short(driver.nodes)}")
    click.echo(f"kubectl uses it now: context drakit-{spec.name} in {path}")


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given on the command line."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) is not ParameterSource.DEFAULT}


def _refuse_layouts(drivers: Sequence[DriverSpec], home: ClusterHome) -> None:
    """Refuse a driver with a layout: the form PROFILE[@NODE,...] has no place for the file's name."""
    for driver in drivers:
        if driver.profile == "layout":
            nodes = " ".join(f"--node {node}" for node in driver.nodes)
            raise ClusterError(
                f"--driver layout@{','.join(driver.nodes)}: takes no file; start the cluster with --no-driver and then "
                f"`drakit driver run layout FILE {nodes} --kubelet-dir {home.nodes}/{{node}}`"
            )


def _start_and_tell(spec: ClusterSpec, home: ClusterHome, path: Path) -> LocalCluster:
    """Start it, and add it to the kubeconfig at ``path``; a cluster that nobody was told of would run for ever."""
    from drakit_kind.clusters import kubeconfig
    from drakit_kind.local.backend import LocalCluster

    kubeconfig.check(path)
    running = LocalCluster(spec, home, report=progress(spec))
    running.start()
    try:
        kubeconfig.add(path, kubeconfig.load(home.kubeconfig), home.directory)
        home.remember_export(path)
    except BaseException as error:
        with cleaning_up_after(error):
            running.stop()
        raise
    return running


@cluster.command()
@cluster_options
@output_option
def status(name: str, data_dir: Path | None, output: Format | None) -> None:
    """Show whether a cluster runs, with which feature gates, and its nodes, drivers, slices and claims.

    \b
    drakit cluster status
    drakit cluster status --name red -o json | jq .components.apiserver.featureGates
    """
    from drakit_driver.cli.manifests import dump
    from drakit_kind.cli.cluster import status as statuses

    with readable_errors():
        running = running_cluster(name, data_dir)
        click.echo(dump(statuses.status(running), output) if output else statuses.summary(running), nl=not output)


@cluster.command(name="list")
@output_option
def list_clusters(output: Format | None) -> None:
    """List all clusters, also those that ended: name, state, version, nodes, URL, age.

    They are those in $DRAKIT_HOME (~/.drakit if it is not set); clusters with a --data-dir elsewhere are not known.

    \b
    drakit cluster list
    drakit cluster list -o json | jq -r '.[] | select(.state == "running").name'
    """
    from dataclasses import asdict

    from drakit_driver.cli.manifests import dump
    from drakit_kind.cli.cluster import listing

    with readable_errors():
        clusters = listing.rows()
    if output:
        click.echo(dump([asdict(row) for row in clusters], output), nl=False)
    elif clusters:
        click.echo(listing.table(clusters))
    else:
        tell("there is no cluster; start one with `drakit cluster up`")


@cluster.command()
@cluster_options
def down(name: str, data_dir: Path | None) -> None:
    """Stop a cluster and remove it from the kubeconfig.

    Its objects are gone, unless it was started with --data-dir. If kubectl used it, it uses again what it used before.

    \b
    drakit cluster down
    drakit cluster down --name red
    """
    from drakit_kind.local.backend import LocalCluster

    end_in_order_on_signals()
    with readable_errors():
        home = home_of(name, data_dir)
        spec = home.read_spec()
        if spec is None:
            raise ClusterError(f"there is no cluster {name}{others(home)}")
        running = LocalCluster(spec, home)
        again = f"`drakit cluster down{home.option}` again waits for it and removes its files"
        with interrupted(f"the cluster may still be ending, and {again}"), home.starting():
            if spec.real and home.running_pid() is not None:
                tell(f"stopping {what_is_slow(spec)}")
            running.stop()
            left = [problem for path in home.exported_to() if (problem := _forget(path, running))]
            if data_dir is None:
                home.remove()
    click.echo(f"cluster {spec.name} is stopped" + (f"; its data stays in {data_dir}" if data_dir else ""))
    if left:
        raise click.ClickException("its entries stay in a kubeconfig: " + "; ".join(left))


def _forget(path: Path, cluster: LocalCluster) -> str | None:
    """Take a cluster out of a kubeconfig; return what is wrong with the file, if that cannot be done."""
    from drakit_kind.clusters import kubeconfig

    try:
        selected = kubeconfig.remove(path, f"drakit-{cluster.spec.name}", cluster.url, _runs)
    except (KubeconfigError, OSError) as error:
        return str(error)
    if selected:
        click.echo(f"kubectl uses context {selected} again, in {path}")
    return None


def _runs(directory: Path) -> bool:
    return ClusterHome(directory).running_pid() is not None


@cluster.command()
@cluster_options
@click.option("-f", "--follow", is_flag=True, help="Go on with what is logged from now on, until the cluster ends.")
@click.argument("component", type=click.Choice(COMPONENTS), required=False)
def logs(name: str, data_dir: Path | None, follow: bool, component: Component | None) -> None:
    """Print the log of a cluster, or of one COMPONENT of it, also after it ended by itself.

    \b
    drakit cluster logs
    drakit cluster logs -f scheduler
    """
    from drakit_kind.clusters import cluster_logs

    with readable_errors():
        home = home_of(name, data_dir)
        if not home.log.exists():
            raise ClusterError(f"there is no cluster {name}{others(home)}")
        lines = cluster_logs.followed if follow else cluster_logs.lines
        with suppress(KeyboardInterrupt):
            for line in lines(home, component):
                click.echo(line, nl=False)
            return
    sys.exit(INTERRUPTED_STATUS)


@cluster.command()
@cluster_options
@click.argument("component", type=click.Choice(COMPONENTS))
@click.option(
    "--feature-gates", metavar="A=true,B=false", help="New feature gates for it.  [default: as it was started]"
)
@click.option("--emulated-version", metavar="V", help="New emulated version for it.  [default: as it was started]")
@click.option(
    "--kubernetes-version",
    "version",
    metavar="V",
    help="New version of it; what it emulates stays.  [default: as it was started]",
)
def restart(
    name: str,
    data_dir: Path | None,
    component: Component,
    feature_gates: str | None,
    emulated_version: str | None,
    version: str | None,
) -> None:
    """Restart one COMPONENT on the same data, possibly with other gates or as another version.

    \b
    drakit cluster restart scheduler
    drakit cluster restart apiserver --feature-gates DRAPartitionableDevices=false
    drakit cluster restart apiserver --emulated-version 1.36
    """
    from drakit_api.features import parse_gates

    end_in_order_on_signals()
    with readable_errors():
        gates = None if feature_gates is None else parse_gates(feature_gates)
        running = running_cluster(name, data_dir)
        if component in running.spec.real:
            tell(f"restarting {component}")
        logs = f"`drakit cluster logs{running.home.option} {component}`"
        with interrupted(f"the cluster's process goes on with the restart, and {logs} says how it ends"):
            running.restart(component, version=version, gates=gates, emulated_version=emulated_version)
    click.echo(f"{component} of cluster {running.spec.name} is restarted")
