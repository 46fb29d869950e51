"""``drakit conformance``: run the suite and write down what it showed."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import click

from drakit_client.processes.ending_signals import INTERRUPTED_STATUS
from drakit_kind.cluster import KUBERNETES_VERSION, ClusterError
from drakit_kind.clusters.backends import BACKENDS, Backend, real_components
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.conformance.pytest_options import last_of, refuse_ignored, refuse_settled, with_prefix
from drakit_kind.conformance.records import RECORDS
from drakit_kind.interrupts import end_in_order_on_signals

if TYPE_CHECKING:
    from drakit_kind.conformance.runs import Configuration, Run

_NEEDED = ("jinja2", "pytest", "pytest_timeout", "xdist")
_RESULTS = ("index.html", "junit.xml")


@click.command()
@click.option(
    "--cluster",
    "backend",
    type=click.Choice(BACKENDS),
    help="What to run it on.  [default: embedded]",
)
@click.option(
    "--kubernetes-version",
    "versions",
    multiple=True,
    metavar="V",
    help=f"Kubernetes version; may be repeated.  [default: {KUBERNETES_VERSION}]",
)
@click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="A=true,B=false",
    help="Feature gates; may be repeated, each is a run. `needed`: those that the stories need and that a version has, "
    "but not on by default.  [default: the version's own, so stories about others are left out]",
)
@click.option(
    "--driver",
    "drivers",
    multiple=True,
    metavar="NAME",
    help="Judge this DRA driver, which runs in the cluster of --kubeconfig.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Judge drivers of this cluster.  [default of --driver: $KUBECONFIG or ~/.kube/config]",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("conformance"),
    show_default=True,
    help="Directory for junit.xml and index.html.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Also tell the stories in which gates are switched and versions changed while pods run, a column for each "
    "version. Each says its own versions and gates; with --cluster binaries that is half an hour of rows, two at once.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stories at a time.  [default: embedded, one more than there are cores; binaries and kind, which have one "
    "cluster for all, three for each core; --matrix, two; a judged driver, one, as stories would take each other's "
    "devices]",
)
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def conformance(
    backend: Backend | None,
    versions: tuple[str, ...],
    gates: tuple[str, ...],
    drivers: tuple[str, ...],
    kubeconfig: Path | None,
    output: Path,
    matrix: bool,
    jobs: int | None,
    pytest_options: tuple[str, ...],
) -> None:
    """Run the end-to-end suite and write JUnit XML and one HTML page: capability by version and gates.

    Without --driver and --kubeconfig it runs on clusters that it starts.

    With them it starts nothing and runs the stories that hold for any driver: its pools are sound, its devices can be
    allocated, shared, used by pods and given back. They need a device that is free. They make and remove namespaces and
    DeviceClasses, hold up to 12 claims at a time in pods of the image busybox:1.36, and delete one ResourceSlice of the
    driver, which has to publish it again. Their pods tolerate the taints NoSchedule that nodes were given (GPU pools
    often have one), not NoExecute. Nothing else in the cluster is changed.

    Exit status: 0 all passed, 1 something failed, 2 it could not be run, every story was left out or the judged driver
    stopped answering, 130 interrupted.
    After Ctrl-C the suite has a minute to take away what it made, and what was seen until then is written.

    \b
    drakit conformance
    drakit conformance --cluster binaries --kubernetes-version 1.36.3 --kubernetes-version 1.37.1
    drakit conformance --kubernetes-version 1.34.3 --feature-gates needed
    drakit conformance --feature-gates '' --feature-gates DRAConsumableCapacity=false
    drakit conformance --driver gpu.example.com                  # somebody else's, in the current context
    drakit conformance -- -k tpu                                 # options of pytest after --
    drakit conformance --cluster kind -- --drakit-kind-image kindest/node:v1.36.3
    """
    end_in_order_on_signals()
    with _interruptible(), _not_run(), readable_errors():
        _remove_results(output)
        _require_pytest()
        pytest_options = with_prefix(pytest_options)
        refuse_settled(pytest_options)
        refuse_ignored(pytest_options, None if drivers or kubeconfig else backend or "embedded")
        if drivers or kubeconfig:
            _refuse_own(backend, versions, gates, matrix, jobs)
            configurations = _foreign(drivers, kubeconfig)
        else:
            configurations = _own(backend, versions, gates, matrix, pytest_options)
        runs = _run_all(configurations, output, jobs, pytest_options)
        _write(output, runs)
    judged = _judged(runs)
    for run in judged:
        _tell(run)
    click.echo(f"{output / 'index.html'}\n{output / 'junit.xml'}")
    sys.exit(_status(judged))


class _NotRun(click.ClickException):
    """Exit status 1 is for stories that failed."""

    exit_code = 2


@contextlib.contextmanager
def _not_run() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        raise _NotRun(error.message) from error


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Before the first run and after the last one there is nothing to take away; a run itself sees to what it made."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED_STATUS)


def _remove_results(output: Path) -> None:
    """Remove those of an earlier call, which must not be taken for this one's, whatever it comes to.

    A directory of a run is one that has its records. What else somebody keeps there stays.
    """
    for name in _RESULTS:
        (output / name).unlink(missing_ok=True)
    for records in output.glob(f"run-*/{RECORDS}"):
        if re.fullmatch(r"run-\d+", records.parent.name):
            shutil.rmtree(records.parent)


def _require_pytest() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ClusterError(f"{', '.join(missing)} not installed: pip install '.[conformance]' in drakit's directory")


def _refuse_own(
    backend: str | None, versions: tuple[str, ...], gates: tuple[str, ...], matrix: bool, jobs: int | None
) -> None:
    if backend or versions or gates or matrix:
        raise ClusterError(
            "--cluster, --kubernetes-version, --feature-gates and --matrix are for clusters that are started here; "
            "--driver and --kubeconfig judge one that runs"
        )
    if jobs not in (None, 1):
        raise ClusterError(f"--jobs {jobs}: a driver is judged by one story at a time; they would take its devices")


def _own(
    backend: Backend | None, versions: tuple[str, ...], gates: tuple[str, ...], matrix: bool, options: Sequence[str]
) -> list[Configuration]:
    from drakit_api.features import parse_gates
    from drakit_kind.conformance.runs import Configuration
    from drakit_kind.testing.features_off import NEEDED

    backend = backend or "embedded"
    if matrix and backend == "kind":
        raise ClusterError(
            "--matrix: each of its rows is told in a cluster of its own; one in kind takes half a minute and more to "
            "create, and a node image of its version. --cluster binaries tells them with the same programs"
        )
    if backend == "kind":
        versions = _of_image(options, versions)
    for text in gates:
        if text != NEEDED:
            parse_gates(text)
    real = last_of(options, "--drakit-real")
    real_components(backend, real, option="--drakit-real")
    emulated = last_of(options, "--drakit-emulated-version")
    configurations = [
        Configuration(backend=backend, version=version, gates=text, real=real, emulated=emulated)
        for version, text in product(versions or (KUBERNETES_VERSION,), gates or ("",))
    ]
    return [*configurations, *([Configuration(backend=backend, matrix=True, real=real)] if matrix else [])]


def _of_image(options: Sequence[str], versions: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the versions to run: that of the tag if the user names a node image."""
    from drakit_kind.cluster import tagged_version

    image = last_of(options, "--drakit-kind-image") or ""
    tagged = tagged_version(image)
    if tagged is None:
        return versions
    if others := [version for version in versions if version != tagged]:
        raise ClusterError(f"--kubernetes-version {others[0]}: {image} is {tagged}; one run for each image")
    return (tagged,)


def _foreign(drivers: tuple[str, ...], kubeconfig: Path | None) -> list[Configuration]:
    """Make a configuration for each driver; without names, for each that publishes slices in the cluster."""
    from drakit_client.resources import RESOURCE_SLICES
    from drakit_kind.clusters.api import Api
    from drakit_kind.clusters.kubeconfig import default_path
    from drakit_kind.conformance.runs import Configuration

    path = kubeconfig or default_path()
    with Api(path) as api:
        publishing = {item["spec"]["driver"] for item in api.objects(RESOURCE_SLICES)}
        version = api.version()
    if missing := sorted(set(drivers) - publishing):
        there = ", ".join(sorted(publishing)) or "none"
        raise ClusterError(
            f"driver {missing[0]} publishes no ResourceSlice in the cluster of {path}; there are: {there}"
        )
    if not publishing:
        raise ClusterError(f"no driver publishes a ResourceSlice in the cluster of {path}")
    return [Configuration(kubeconfig=path, driver=name, version=version) for name in drivers or sorted(publishing)]


def _run_all(
    configurations: list[Configuration], output: Path, jobs: int | None, options: tuple[str, ...]
) -> list[Run]:
    from drakit_kind.conformance.preparation import prepare
    from drakit_kind.conformance.runs import INTERRUPTED, run

    for configuration in configurations:
        prepare(configuration, options, partial(_tell_step, configuration.backend))
    runs = []
    for number, configuration in enumerate(configurations, start=1):
        click.secho(f"{number} of {len(configurations)}: {configuration.label}", bold=True)
        runs.append(run(configuration, output / f"run-{number}", jobs=jobs, extra=options))
        if runs[-1].problem == INTERRUPTED:
            break
    return runs


def _tell_step(backend: Backend, text: str) -> None:
    click.echo(f"{backend}: {text}")


def _judged(runs: list[Run]) -> list[Run]:
    """Leave out runs in which the user's options have chosen no story, unless that is all runs."""
    from drakit_kind.conformance.runs import NO_STORY

    return [run for run in runs if run.problem != NO_STORY] or runs


def _write(output: Path, runs: list[Run]) -> None:
    from drakit_kind.conformance import junit, page

    command = shlex.join(["drakit", *sys.argv[1:]])
    judged = _judged(runs)
    page.write(output / "index.html", judged, title="DRA conformance", command=command, when=datetime.now(UTC))
    merged = ElementTree.ElementTree(junit.merge(judged))
    merged.write(output / "junit.xml", encoding="utf-8", xml_declaration=True)


def _tell(run: Run) -> None:
    text = "; ".join(filter(None, (run.counted, run.problem)))
    click.secho(f"{run.configuration.label}: {text}", fg="green" if run.passed else "red")
    for record in run.records:
        if record.outcome == "failed" and not (run.problem and record.no_cluster):
            click.echo(f"  {record.capability}: {record.title}")


def _status(runs: list[Run]) -> int:
    from drakit_kind.conformance.runs import INTERRUPTED

    if any(run.problem == INTERRUPTED for run in runs):
        return INTERRUPTED_STATUS
    return 2 if any(run.problem for run in runs) else 0 if all(run.passed for run in runs) else 1
