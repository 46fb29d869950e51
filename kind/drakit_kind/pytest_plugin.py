"""Fixtures for test suites that need a cluster with DRA devices; registered as a pytest entry point.

A suite that has drakit installed writes ``def test_x(cluster, namespace, driver)`` and runs. Fixtures are imported into
every pytest of the environment, so nothing heavy is imported before one of them is used.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from drakit_kind.testing.chosen_cluster import refuse_ignored, refuse_unused_programs, spec_of
from drakit_kind.testing.pod_endings import end_pods, wait_for_end
from drakit_kind.testing.reported import evidence, reported, teardown_failure
from drakit_kind.testing.settings.options import add_options
from drakit_kind.testing.settings.short_names import forget_values, nobodys, written_out
from drakit_kind.testing.settings.values import path

if TYPE_CHECKING:
    from drakit_kind.cluster import ClusterSpec, Driver
    from drakit_kind.clusters.api import Api
    from drakit_kind.clusters.lifecycle import Cluster
    from drakit_kind.testing.cluster_turns import ClusterTurns
    from drakit_kind.testing.session_clusters import SessionClusters, StartedCluster
    from drakit_kind.testing.shared_cluster import SharedCluster

# Whether the present test of this process wants the cluster alone, and the next one.
_ALONE: pytest.StashKey[tuple[bool, bool]] = pytest.StashKey()
_ITEM: pytest.StashKey[pytest.Item] = pytest.StashKey()  # that test
_NEITHER = (False, False)  # where something else than pytest runs the tests
_TURNS: pytest.StashKey[ClusterTurns] = pytest.StashKey()
# The drivers that a test has started.
_DRIVERS: pytest.StashKey[list[Driver]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the cluster that the fixtures start."""
    add_options(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None, object, object]:
    """Accept options without their prefix, once it is known that nobody else has them."""
    forget_values(early_config, args)
    loaded = yield
    args[:] = written_out(args, nobodys(early_config))
    return loaded


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that would be ignored, and register the markers by which `drakit conformance` sorts."""
    refuse_ignored(config)
    config.addinivalue_line(
        "markers", "capability(name, source, gates=()): what a story shows, the seed or KEP it is from, its gates"
    )
    config.addinivalue_line("markers", "needs_gates(*names): feature gates without which a test is left out")
    config.addinivalue_line("markers", "needs_containers: a story that runs commands in containers")
    config.addinivalue_line(
        "markers", "alone: while this test runs, no other uses the cluster, where workers of pytest-xdist share one"
    )
    config.addinivalue_line("markers", "any_driver: a story about any DRA driver, see --drakit-subject-driver")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let tests of several workers take turns on the cluster, even those that use it without a namespace."""
    if not hasattr(config, "workerinput"):
        return
    for item in items:
        names: list[str] = getattr(item, "fixturenames", [])
        if "cluster" in names and "_turn" not in names:
            names.insert(names.index("cluster") + 1, "_turn")  # before what does something with the cluster


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Note whether this test and the next one want the cluster alone: it is asked for before it is there."""
    stash = item.session.stash
    next_alone = nextitem is not None and _wants_to_be_alone(nextitem)
    stash[_ALONE] = (_wants_to_be_alone(item), next_alone)
    stash[_ITEM] = item
    try:
        return (yield)
    finally:
        if not next_alone and (turns := stash.get(_TURNS, None)) is not None:
            turns.close()  # what a test has asked for that was left out then


def _wants_to_be_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a story about a feature that is off in this run."""
    if not any(item.iter_markers("capability")) and not any(item.iter_markers("needs_gates")):
        return
    from drakit_kind.testing.features_off import why_left_out

    if why := why_left_out(item):
        pytest.skip(why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what was going on to the report of a test that failed, while its cluster still has it."""
    report = yield
    if report.failed:
        report.sections += evidence(item, report.when)
    return report


@pytest.fixture(scope="session")
def cluster_spec(request: pytest.FixtureRequest) -> ClusterSpec:
    """Return the spec of what ``cluster`` starts; override it in a conftest.py to start something else."""
    return spec_of(request.session)


@pytest.fixture(scope="session")
def _clusters(request: pytest.FixtureRequest) -> Iterator[SessionClusters]:
    from drakit_kind.testing.session_clusters import SessionClusters

    with SessionClusters(request.config) as clusters:
        yield clusters


@pytest.fixture(scope="session")
def start_cluster(_clusters: SessionClusters) -> Callable[[ClusterSpec], Cluster]:
    """Start clusters of one's own; all are stopped and their files removed at the end of the session.

    With ``--drakit-cluster kind``, a cluster that has anything real is a kind cluster.
    """
    return _clusters.start


@pytest.fixture(scope="session")
def _shared(
    request: pytest.FixtureRequest,
    cluster_spec: ClusterSpec,
    _clusters: SessionClusters,
    tmp_path_factory: pytest.TempPathFactory,
) -> SharedCluster[StartedCluster] | None:
    """Return the cluster that this worker of pytest-xdist shares with the others; None if it has its own."""
    from drakit_kind.testing.shared_cluster import SharedCluster

    if not cluster_spec.real or not hasattr(request.config, "workerinput"):
        return None
    return SharedCluster(
        tmp_path_factory.getbasetemp().parent,  # of all workers
        start=lambda: _clusters.start(cluster_spec),
        home_of=lambda cluster: cluster.home,
        join=_clusters.join,
    )


@pytest.fixture(scope="session")
def _turns(
    request: pytest.FixtureRequest,
    _shared: SharedCluster[StartedCluster] | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> ClusterTurns | None:
    """Return the turns that this worker's tests wait for if other workers use the same cluster; else None."""
    from drakit_kind.testing.cluster_turns import ClusterTurns

    is_worker = hasattr(request.config, "workerinput")
    turns = _shared.turns if _shared is not None else None
    if is_worker and path(request.config, "cluster-kubeconfig") is not None:
        turns = ClusterTurns(tmp_path_factory.getbasetemp().parent)
    if turns is not None:
        request.session.stash[_TURNS] = turns
    return turns


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest,
    cluster_spec: ClusterSpec,
    start_cluster: Callable[[ClusterSpec], Cluster],
    _shared: SharedCluster[StartedCluster] | None,
    _turns: ClusterTurns | None,
) -> Iterator[Cluster]:
    """One cluster for the whole session, without drivers.

    The workers of pytest-xdist share one that has components of Kubernetes; of embedded clusters each has its own.
    """
    kubeconfig = path(request.config, "cluster-kubeconfig")
    if kubeconfig is not None:
        from drakit_kind.clusters.foreign import ForeignCluster

        yield ForeignCluster(kubeconfig)
    elif _shared is not None:
        alone, _ = request.session.stash.get(_ALONE, _NEITHER)
        with _shared.used(first=alone) as shared:
            yield shared
            _end_timeout(request)
    else:
        refuse_unused_programs(request.config, cluster_spec)
        yield start_cluster(cluster_spec)


def _end_timeout(request: pytest.FixtureRequest) -> None:
    """Who has no more tests waits for those of others, of whom each has a timeout of its own; the starter leaves last.

    pytest-timeout counts that to this worker's last test. Ended by it, it would stop the cluster under the others.
    """
    cancel = getattr(request.config.hook, "pytest_timeout_cancel_timer", None)
    if cancel is not None and (item := request.session.stash.get(_ITEM, None)) is not None:
        cancel(item=item)


@pytest.fixture(scope="session")
def _session_api(cluster: Cluster) -> Iterator[Api]:
    from drakit_kind.clusters.api import Api

    with Api(cluster.kubeconfig, patience=cluster.spec.patience) as api:
        yield api


@pytest.fixture(scope="session")
def _ending_namespaces(
    request: pytest.FixtureRequest, _session_api: Api, _turns: ClusterTurns | None
) -> Iterator[list[str]]:
    """List namespaces of tests that are over. A real one takes 5 s to go, for which the next test need not wait.

    Nor does whoever interrupts a run: a pod that lost its driver meanwhile would keep its namespace for minutes.
    """
    names: list[str] = []
    yield names
    if request.session.exitstatus != pytest.ExitCode.INTERRUPTED:
        _end_timeout(request)
        # A test that is alone may restart the API server, which refuses even administrators while it starts.
        with _turns.turn(alone=False) if _turns else contextlib.nullcontext():
            wait_for_end(_session_api, names)


@pytest.fixture
def _turn(request: pytest.FixtureRequest, _turns: ClusterTurns | None) -> Iterator[None]:
    """Wait for a turn: tests of other workers use the cluster at the same time, unless one wants to be alone."""
    alone, next_alone = request.session.stash.get(_ALONE, _NEITHER)
    with _turns.turn(alone=alone, again=alone and next_alone) if _turns else contextlib.nullcontext():
        yield


@pytest.fixture
def namespace(_turn: None, _session_api: Api, _ending_namespaces: list[str]) -> Iterator[str]:
    """Make a namespace for this test alone, and delete it with all that is in it."""
    from drakit_client.resources import NAMESPACES, SERVICE_ACCOUNTS

    name = f"test-{secrets.token_hex(3)}"
    try:
        _session_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # kube-apiserver refuses pods of a namespace that has no default service account yet.
        _session_api.wait(SERVICE_ACCOUNTS, "default", namespace=name)
        yield name
    finally:
        _session_api.delete(NAMESPACES, name)
        _ending_namespaces.append(name)


@pytest.fixture
def api(request: pytest.FixtureRequest, cluster: Cluster, namespace: str) -> Iterator[Api]:
    """Connect to the Kubernetes API in this test's namespace, with blocking calls and waits on plain objects."""
    from drakit_kind.clusters.api import Api

    drivers = request.node.stash.setdefault(_DRIVERS, [])
    with (
        Api(cluster.kubeconfig, namespace, patience=cluster.spec.patience) as api,
        reported(request.node, cluster, api, drivers),
    ):
        yield api


@pytest.fixture
def driver(request: pytest.FixtureRequest, cluster: Cluster, api: Api) -> Iterator[Callable[..., Driver]]:
    """Start a driver: ``driver("a100-40gb", nodes=["node-1"], gpus=8)``; stopped after the test.

    Its DRA driver name belongs to this test (``<namespace>.gpu.nvidia.com``), so that parallel tests do not take each
    other's devices; ``name=`` overrides it. The test's pods are ended first, as a kubelet cannot end a pod whose driver
    is gone.
    """
    from drakit_kind.cluster import DriverSpec
    from drakit_kind.processes.drivers import driver_name

    started = request.node.stash.setdefault(_DRIVERS, [])
    with contextlib.ExitStack() as stack:
        stack.push(teardown_failure(request.node, cluster, api, started))

        def start(profile: str, **options: object) -> Driver:
            options.setdefault("nodes", list(cluster.spec.nodes))
            spec = DriverSpec(profile=profile, **options)  # type: ignore[arg-type]  # checked at run time
            if spec.name is None:
                spec = replace(spec, name=f"{api.namespace}.{driver_name(spec)}")
            running = cluster.driver(spec)
            started.append(running)
            stack.callback(running.stop)  # also of one that does not get ready
            running.start()
            return running

        yield start
        if started:
            stack.callback(end_pods, request.session, api)
