"""Fixtures of the stories: drivers of their own, accounts of who holds what, and figures printed at the end.

The suite knows nothing of the backend; it has a cluster's API, nodes to put drivers on, and the logs of containers.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from drakit_client.resources import DEVICE_CLASSES, RESOURCE_CLAIMS
from drakit_kind.cluster import ClusterError, Driver
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.testing.chosen_cluster import require_cluster
from drakit_kind.testing.pod_endings import NO_ANSWER, end_pods
from drakit_kind.testing.reported import teardown_failure
from drakit_kind.testing.settings.values import text
from e2e.answering import silence
from e2e.hardware import Gpus, StartGpus, StartTpus, TakeNodes, Tpus
from e2e.known_bugs import known_bug
from e2e.ledger import AllFree, Allocated, DevicesOf, Ledger, OpenLedger, results
from e2e.order import fixtures_of, ordered
from e2e.subject import Subject

# They start clusters of their own, or judge the machine: `make help` says which target runs which.
collect_ignore = ["attacks", "matrix", "interchange", "machine"]

# Every driver that these start publishes partitions.
_PARTITIONS = "DRAPartitionableDevices"
_PARTITIONED = {"gpus", "tpus"}

_FIGURES: dict[str, str] = {}
_BEGAN = time.monotonic()


def pytest_configure(config: pytest.Config) -> None:
    """What the order of the stories follows, besides the plugin's own markers."""
    config.addinivalue_line("markers", "long: begins early, as it would hold up the end of all")
    config.addinivalue_line("markers", "many_at_once: many pods come at once; see e2e/known_bugs.py")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say once, before the first story, what this machine lacks: each of them would fail of it.

    Of pytest-xdist, the process that has the workers asks.
    """
    if hasattr(session.config, "workerinput") or not _tells_stories(session.config):
        return
    try:
        require_cluster(session.config)
    except ClusterError as error:
        raise pytest.UsageError(str(error)) from None


def _tells_stories(config: pytest.Config) -> bool:
    """Whether a run is of this folder, and not only of those below that start clusters of their own."""
    if config.option.collectonly:
        return False
    suite = Path(__file__).parent
    others = [suite / name for name in collect_ignore]
    places = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return any(not any(place.resolve().is_relative_to(other) for other in others) for place in places)


@pytest.hookimpl(trylast=True)  # when it is known which are chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What has partitions needs their gate, whatever it is about; and the order is one in which workers wait little."""
    items[:] = ordered(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    ours = {"subject"} if text(config, "subject-driver") is None else set()
    for item in items:
        if (_PARTITIONED | ours) & fixtures_of(item):
            item.add_marker(pytest.mark.needs_gates(_PARTITIONS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a known bug of the cluster's version by its number (``e2e.known_bugs``), and end without a judged driver."""
    report = yield
    cluster: Cluster | None = getattr(item, "funcargs", {}).get("cluster")
    error = call.excinfo.value if call.excinfo is not None else None
    if report.failed and call.when == "call" and cluster is not None:
        markers = {marker.name for marker in item.iter_markers()}
        if why := known_bug(markers, cluster.spec, error):
            report.outcome, report.wasxfail = "skipped", why  # what pytest itself makes of an expected failure
        else:
            _end_without_driver(item)
    return report


def _end_without_driver(item: pytest.Item) -> None:
    """After a story has failed, end the run if somebody else's driver does not answer any more."""
    subject: Subject | None = item.funcargs.get("subject")  # type: ignore[attr-defined]  # of pytest.Function
    if subject is None or subject.driver is not None:
        return
    if why := silence(subject, subject.api):
        item.config.stash[NO_ANSWER] = f"driver {subject.name} stopped answering: {why}"
        item.session.shouldfail = item.config.stash[NO_ANSWER]


@pytest.fixture
def node(cluster: Cluster) -> str:
    """A node of the cluster; stories that take it have drivers of their own names, so they can share it.

    Workers of pytest-xdist, gw0, gw1 and so on, that share a cluster take one after the other.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return cluster.spec.nodes[worker % len(cluster.spec.nodes)]


@pytest.fixture
def nodes(cluster: Cluster) -> TakeNodes:
    """``nodes(2)``: the last two nodes; a story that needs more than there are is left out."""

    def take(count: int) -> list[str]:
        there = list(cluster.spec.nodes)
        if len(there) < count:
            pytest.skip(f"needs {count} nodes, this cluster has {len(there)}; see --drakit-cluster-nodes")
        return there[-count:]

    return take


@pytest.fixture
def hosts(nodes: TakeNodes) -> list[str]:
    """The four hosts of a pool of 4x4 chips, in the order of their numbers."""
    return nodes(4)


@pytest.fixture
def gpus(driver: Callable[..., Driver]) -> StartGpus:
    """``gpus("a100-40gb", nodes=[node], gpus=2)``: start a driver with MIG GPUs."""
    return lambda profile="a100-40gb", **options: Gpus(driver(profile, **options))


@pytest.fixture
def tpus(driver: Callable[..., Driver]) -> StartTpus:
    """``tpus("tpu-v6e-4x4", nodes=[...])``: start a driver with a TPU pool."""
    return lambda profile="tpu-v6e-4x4", **options: Tpus(driver(profile, **options))


@pytest.fixture
def subject(request: pytest.FixtureRequest, cluster: Cluster, api: Api) -> Iterator[Subject]:
    """The driver under judgement: ``--drakit-subject-driver``, or one of ours with MIG GPUs on a node."""
    name, ours = text(request.config, "subject-driver"), None
    if name is None:
        start: StartGpus = request.getfixturevalue("gpus")
        ours = start(nodes=[request.getfixturevalue("node")]).driver
        name = ours.name
    device_class = f"{api.namespace}.any-device"
    with contextlib.ExitStack() as stack:
        stack.push(teardown_failure(request.node, cluster, api, [ours] if ours else []))
        stack.callback(end_pods, request.session, api)
        # Before it is created: whoever interrupts the run does not wait for the end of that. And it is the first to go:
        # pods may take long to end, and a class is in no namespace that goes with all that is in it.
        stack.callback(api.delete, DEVICE_CLASSES, device_class)
        api.create(manifests.device_class(device_class, f"device.driver == '{name}'"))
        yield Subject(name, device_class, api, ours)


@pytest.fixture
def ledger(api: Api) -> OpenLedger:
    """``ledger(driver_name)``: the account of who holds what, as of now."""
    return lambda driver: Ledger(api, driver)


@pytest.fixture
def devices_of(api: Api) -> DevicesOf:
    """``devices_of(claim)``: names of the allocated devices, in order."""
    return lambda claim: [result["device"] for result in results(api.get(RESOURCE_CLAIMS, claim))]


@pytest.fixture
def allocated() -> Allocated:
    """``allocated(claims)``: the names of those that hold devices."""
    return lambda claims: {claim["metadata"]["name"] for claim in claims if results(claim)}


@pytest.fixture
def all_free(api: Api) -> AllFree:
    """``all_free(claim)``: wait until a claim that still exists holds no device and is reserved for nobody."""

    def wait(claim: str) -> None:
        api.wait(
            RESOURCE_CLAIMS,
            claim,
            lambda seen: not seen.get("status", {}).get("allocation"),
            what="deallocated",
        )
        assert not api.get(RESOURCE_CLAIMS, claim).get("status", {}).get("reservedFor")

    return wait


@pytest.fixture(autouse=True)
def _what_the_backend_can(request: pytest.FixtureRequest) -> None:
    """Leave out, with the reason, what a backend cannot do by its nature."""
    if request.node.get_closest_marker("needs_containers"):
        cluster: Cluster = request.getfixturevalue("cluster")
        if "kubelet" not in cluster.spec.real:
            pytest.skip("simulated kubelets run no processes, and so no programs but a few that they stand in for")


@pytest.fixture(scope="session")
def cluster(cluster: Cluster) -> Cluster:
    """The plugin's, with a note of how long it took to start."""
    if ready := cluster.ready_seconds:  # none of one that another worker has started
        workers = "1" if cluster.spec.real else os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
        _FIGURES[f"cluster ready, {workers} starting at once"] = f"{ready:.2f} s"
    return cluster


@pytest.fixture
def figure() -> Callable[[str, str], None]:
    """``figure(name, text)``: a measurement to print at the end of the run."""
    return _FIGURES.__setitem__


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Workers of pytest-xdist hand their figures to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["figures"] = dict(_FIGURES)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect what a worker measured."""
    _FIGURES.update(getattr(node, "workeroutput", {}).get("figures", {}))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the figures that the project promises, as measured in this run."""
    _FIGURES["whole suite"] = f"{time.monotonic() - _BEGAN:.1f} s"
    terminalreporter.section("figures")
    for name, shown in sorted(_FIGURES.items()):
        terminalreporter.write_line(f"{name:45} {shown}")
