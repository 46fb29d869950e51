"""``make e2e-upstream``: build Kubernetes' tests, start a cluster, run them, compare with the list."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from drakit_client.processes.ending_signals import INTERRUPTED_STATUS, run_until_told
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component
from drakit_kind.clusters.backends import BACKENDS, Backend, real_components
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.interrupts import end_in_order_on_signals
from drakit_kind.nodes.busybox import find_busybox
from drakit_kind.testing.prerequisites import require
from e2e.upstream import expectations
from e2e.upstream.clusters import Clusters
from e2e.upstream.pod_images import write_pod_images
from e2e.upstream.program import OF_PODS, TESTS, built_programs
from e2e.upstream.report import print_report, progress
from e2e.upstream.runs import Runner
from e2e.upstream.specs import specs_with
from e2e.upstream.suites import SUITES, known_failures

_RESULTS = Path(__file__).parents[2] / "build" / "upstream"
# The lists have a column for each of these combinations of components.
_COLUMNS: dict[tuple[Backend, frozenset[Component]], str] = {
    ("embedded", frozenset()): "embedded",
    ("embedded", frozenset({"scheduler", "controllers"})): "embedded-real",
    ("binaries", frozenset(COMPONENTS)): "binaries",
    ("kind", frozenset(COMPONENTS)): "kind",
}


def _pattern(context: click.Context, parameter: click.Parameter, text: str | None) -> re.Pattern[str]:
    try:
        return re.compile(text or "")
    except re.error as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}") from None


@click.command()
@click.option("--cluster", type=click.Choice(BACKENDS), default="embedded", show_default=True)
@click.option("--real", metavar="COMPONENT,...", help="Components that are Kubernetes' own, as scheduler,controllers.")
@click.option(
    "--suite",
    "suites",
    type=click.Choice(list(SUITES)),
    multiple=True,
    help="Which tests; may be repeated.  [default: all on an embedded cluster, elsewhere dra]",
)
@click.option("-k", "chosen", metavar="REGEX", callback=_pattern, help="Only tests in whose name it is found.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Tests at a time.  [default: 12; on real nodes 3 for each processor]"
)
@click.option(
    "--kind-image", metavar="IMAGE", help="The node image in kind, as kindest/node:v1.37.1; else drakit's own."
)
def main(
    cluster: Backend,
    real: str | None,
    suites: tuple[str, ...],
    chosen: re.Pattern[str],
    jobs: int | None,
    kind_image: str | None,
) -> None:
    """Run Kubernetes' own end-to-end tests and compare with the lists of those that are known to fail.

    Exit status: 0 if every test did what the lists say, 1 otherwise.
    """
    end_in_order_on_signals()
    with readable_errors():
        # Without root, real nodes are refused, with the way out, rather than replaced by simulated ones.
        everything = cluster == "binaries" and real is None
        components = frozenset(COMPONENTS) if everything else real_components(cluster, real)
        column = _column(cluster, components)
        require(ClusterSpec(real=components), cluster, click.echo)
        names = list(suites) or _suites(column)
        known = known_failures(names, list(_COLUMNS.values()), column)
        programs = built_programs([TESTS, *(OF_PODS if "kubelet" in components else ())])
        all_specs = specs_with(programs[TESTS], [SUITES[name].labels for name in names])
        specs = [spec for spec in all_specs if chosen.search(spec.name)]
        if not specs:
            raise ClusterError(f"-k {chosen.pattern!r}: it is in the name of none of the {len(all_specs)} tests")
        logs = _RESULTS / column
        shutil.rmtree(logs, ignore_errors=True)
        fail = {name for name, test in known.items() if test.expectation == "fails"}
        try:
            with _pod_images(programs, components) as images:
                clusters = Clusters(cluster, components, logs, images, kind_image)
                runner = Runner(programs[TESTS], clusters, logs, fail)
                outcomes = run_until_told(runner.run(specs, jobs=jobs or _jobs(components), told=progress(len(specs))))
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED_STATUS)
    judgement = expectations.judge(outcomes, known, {spec.name for spec in all_specs})
    print_report(judgement, column, logs)
    sys.exit(0 if judgement.is_good else 1)


def _suites(column: str) -> list[str]:
    """All of them where the API server is ours and all is at hand; Kubernetes' own passes its conformance tests."""
    return list(SUITES) if column == "embedded" else ["dra"]


def _jobs(components: frozenset[Component]) -> int:
    """As many as only wait; where kubelets start containers, what a kubelet does must not take seconds."""
    return 3 * (os.cpu_count() or 1) if "kubelet" in components else 12


@contextmanager
def _pod_images(programs: Mapping[str, Path], components: frozenset[Component]) -> Iterator[Path | None]:
    """An archive of them for the time of the block, where nodes are real."""
    if "kubelet" not in components:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="drakit-") as directory:
        archive = Path(directory) / "images.tar"
        write_pod_images(archive, find_busybox(click.echo), programs)
        yield archive


def _column(cluster: Backend, components: frozenset[Component]) -> str:
    try:
        return _COLUMNS[cluster, components]
    except KeyError:
        known = ", ".join(f"{name} with {_words(real)}" for name, real in _COLUMNS)
        raise ClusterError(
            f"the lists have no column for {cluster} with {_words(components)} of Kubernetes, only for {known}"
        ) from None


def _words(components: frozenset[Component]) -> str:
    return ",".join(sorted(components)) or "none"


if __name__ == "__main__":
    main()
