"""``drakit cluster``: keep a cluster in the background and talk to it with kubectl."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from drakit_kind.backends import LOCAL
from drakit_kind.cluster import (
    COMPONENTS,
    KUBERNETES_VERSION,
    ClusterError,
    ClusterSpec,
    Component,
    DriverSpec,
    Report,
    cleaning_up_after,
    in_short,
    silent,
)
from drakit_kind.home import ClusterHome, base_directory
from drakit_kind.interrupts import INTERRUPTED_STATUS, end_in_order_on_signals
from drakit_kind.kubeconfig import KubeconfigError
from drakit_kind.readable_errors import readable_errors
from drakit_kind.up_options import DEFAULT_NODES, TPU_NODES, spec_of

if TYPE_CHECKING:
    from drakit_kind.local import LocalCluster

# From here on a start takes longer than two seconds: nodes with drivers, and any nodes.
_MANY_DRIVEN_NODES, _MANY_NODES = 25, 2000

_name = click.option(
    "--name", default="default", show_default=True, help="Which cluster; several can run side by side."
)
_data_dir = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The --data-dir that the cluster was started with, if any.",
)


@click.group()
def cluster() -> None:
    """Start, inspect and stop test clusters.

    \b
    drakit cluster up
    kubectl get resourceslices,resourceclaims,pods -A
    drakit cluster down
    """


@cluster.command()
@_name
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
    from drakit_kind import kubeconfig

    end_in_order_on_signals()
    with readable_errors():
        home = _home(name, data_dir)
        continues = home.was_ready
        spec = spec_of({"name": name, **options}, _named({"name": name, **options}), home)
        _refuse_layouts(spec.drivers, home)
        path = kubeconfig_file or kubeconfig.default_path()
        running = _start_and_tell(spec, home, path)
    seconds = f"{running.ready_seconds:.2f} s"
    click.echo(f"cluster {spec.name} is ready after {seconds}: {running.url}, {len(spec.nodes)} nodes")
    if continues:
        click.echo(f"  it continues what was in {home.directory}; options that were not named are those of before")
    for driver in spec.drivers:
        click.echo(f"  {driver.profile} on {in_short(driver.nodes)}")
    click.echo(f"kubectl uses it now: context drakit-{spec.name} in {path}")


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that stand on the command line."""
    source = click.get_current_context().get_parameter_source
    return {name: value for name, value in options.items() if source(name) is not ParameterSource.DEFAULT}


def _refuse_layouts(drivers: Sequence[DriverSpec], home: ClusterHome) -> None:
    """A layout is a profile too, but its file would have no place in PROFILE[@NODE,...]."""
    for driver in drivers:
        if driver.profile == "layout":
            nodes = " ".join(f"--node {node}" for node in driver.nodes)
            raise ClusterError(
                f"--driver layout@{','.join(driver.nodes)}: takes no file; start the cluster with --no-driver and then "
                f"`drakit driver run layout FILE {nodes} --kubelet-dir {home.nodes}/{{node}}`"
            )


def _start_and_tell(spec: ClusterSpec, home: ClusterHome, path: Path) -> LocalCluster:
    """Start it, and add it to the kubeconfig at ``path``; a cluster that nobody was told of would run for ever."""
    from drakit_kind import kubeconfig
    from drakit_kind.local import LocalCluster

    kubeconfig.check(path)
    running = LocalCluster(spec, home, report=progress(spec))
    running.start()
    try:
        kubeconfig.add(path, kubeconfig.load(home.kubeconfig))
        home.remember_export(path)
    except BaseException as error:
        with cleaning_up_after(error):
            running.stop()
        raise
    return running


@cluster.command()
@_name
@_data_dir
def status(name: str, data_dir: Path | None) -> None:
    """Show whether a cluster runs, and its nodes, drivers, slices and claims."""
    from drakit_kind.status import summary

    with readable_errors():
        click.echo(summary(_running(name, data_dir)))


@cluster.command()
@_name
@_data_dir
def down(name: str, data_dir: Path | None) -> None:
    """Stop a cluster and remove it from the kubeconfig. Its objects are gone, unless it was started with --data-dir."""
    from drakit_kind.local import LocalCluster

    end_in_order_on_signals()
    with readable_errors():
        home = _home(name, data_dir)
        spec = home.read_spec()
        if spec is None:
            raise ClusterError(f"there is no cluster {name}{_others(home)}")
        running = LocalCluster(spec, home)
        again = f"`drakit cluster down{home.option}` again waits for it and removes its files"
        with _interrupted(f"the cluster may still be ending, and {again}"), home.starting():
            if spec.real and home.running_pid() is not None:
                _tell(f"stopping {_what_is_slow(spec)}")
            running.stop()
            left = [problem for path in home.exported_to() if (problem := _forget(path, running))]
            if data_dir is None:
                home.remove()
    click.echo(f"cluster {name} is stopped" + (f"; its data stays in {data_dir}" if data_dir else ""))
    if left:
        raise click.ClickException("its entries stay in a kubeconfig: " + "; ".join(left))


def progress(spec: ClusterSpec) -> Report:
    """Who prints each step of a start to stderr.

    A few simulated nodes are there before one has read that; real components take seconds each, and so do many nodes.
    """
    if not spec.real and spec.driven_nodes < _MANY_DRIVEN_NODES and len(spec.nodes) < _MANY_NODES:
        return silent
    _tell(f"starting {_what_is_slow(spec)}")
    return lambda text: _tell(f"  {text}")


def _what_is_slow(spec: ClusterSpec) -> str:
    if not spec.real:
        return f"{len(spec.nodes)} nodes"
    return f"Kubernetes {spec.version}: " + ", ".join(name for name in COMPONENTS if name in spec.real)


def _tell(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def _interrupted(text: str) -> Iterator[None]:
    """Who interrupts the block reads what goes on without it."""
    try:
        yield
    except KeyboardInterrupt:
        _tell(f"interrupted; {text}")
        sys.exit(INTERRUPTED_STATUS)


def _forget(path: Path, cluster: LocalCluster) -> str | None:
    """Take a cluster out of a kubeconfig; what is wrong with the file, if that cannot be done."""
    from drakit_kind import kubeconfig

    try:
        kubeconfig.remove(path, f"drakit-{cluster.spec.name}", cluster.url)
    except (KubeconfigError, OSError) as error:
        return str(error)
    return None


@cluster.command()
@_name
@_data_dir
@click.argument("component", type=click.Choice(COMPONENTS), required=False)
def logs(name: str, data_dir: Path | None, component: Component | None) -> None:
    """Print the log of a cluster, or of one COMPONENT of it, also after it ended by itself."""
    from drakit_kind import cluster_logs

    with readable_errors():
        home = _home(name, data_dir)
        if not home.log.exists():
            raise ClusterError(f"there is no cluster {name}{_others(home)}")
        for line in cluster_logs.lines(home, component):
            click.echo(line, nl=False)


@cluster.command()
@_name
@_data_dir
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
    """Restart one COMPONENT on the same data, possibly with other gates or as another version."""
    from drakit_api.features import parse_gates

    end_in_order_on_signals()
    with readable_errors():
        gates = None if feature_gates is None else parse_gates(feature_gates)
        running = _running(name, data_dir)
        if component in running.spec.real:
            _tell(f"restarting {component}")
        logs = f"`drakit cluster logs{running.home.option} {component}`"
        with _interrupted(f"the cluster's process goes on with the restart, and {logs} says how it ends"):
            running.restart(component, version=version, gates=gates, emulated_version=emulated_version)
    click.echo(f"{component} of cluster {name} is restarted")


def _home(name: str, data_dir: Path | None) -> ClusterHome:
    return ClusterHome(data_dir) if data_dir else ClusterHome.of(name)


def _running(name: str, data_dir: Path | None) -> LocalCluster:
    from drakit_kind.local import LocalCluster

    home = _home(name, data_dir)
    running = LocalCluster.running(home)
    if running is None:
        raise ClusterError(f"cluster {name} does not run{_ended(home) or _others(home)}")
    return running


def _ended(home: ClusterHome) -> str:
    """What to do about a cluster that is there and does not run; "" if there is none."""
    if not home.spec_file.exists():
        return ""
    what, again = ("it ended", "continues it") if home.was_ready else ("it was never ready", "starts it anew")
    return (
        f"; {what}: `drakit cluster logs` says why, and `drakit cluster up`, each with the same --name or --data-dir, "
        f"{again} ({home.directory})"
    )


def _others(home: ClusterHome) -> str:
    base = base_directory()
    named = [path for path in base.iterdir() if path.name[0] != "."] if base.exists() else []
    others = sorted(path.name for path in named if path != home.directory and (path / "cluster.json").exists())
    hint = f"there are: {', '.join(others)}" if others else "start one with `drakit cluster up`"
    return f"; {hint} ({home.directory} was looked at)"
