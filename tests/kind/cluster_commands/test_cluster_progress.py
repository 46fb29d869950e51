"""What takes seconds says what it does, and who interrupts it reads what goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from drakit_kind.cli.cluster.commands import cluster
from drakit_kind.cli.cluster.progress import progress
from drakit_kind.cluster import ClusterSpec, Component, DriverSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster
from drakit_kind.testing import session_clusters
from drakit_kind.testing.session_clusters import SessionClusters

MANY = [f"node-{number}" for number in range(25)]
REAL: frozenset[Component] = frozenset({"apiserver", "controllers"})


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Commands set some, which are not for the rest of the run; a signal that they do not handle does not end it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, lambda *_: None)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterHome:
    """That of a cluster ``red``, which seems to run."""
    monkeypatch.setenv("DRAKIT_HOME", str(tmp_path))
    monkeypatch.setattr(ClusterHome, "running_pid", lambda _: 1)
    monkeypatch.setattr(LocalCluster, "stop", lambda _: None)
    monkeypatch.setattr(LocalCluster, "restart", lambda *_, **__: None)
    made = ClusterHome.of("red")
    made.write_spec(ClusterSpec(name="red", real=REAL))
    return made


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (ClusterSpec(nodes=["node-1"]), ""),
        (ClusterSpec(nodes=MANY), ""),
        (
            ClusterSpec(nodes=MANY, drivers=[DriverSpec(profile="a30", nodes=MANY)]),
            "starting 25 nodes\n  kubelet started\n",
        ),
        (ClusterSpec(nodes=80 * MANY), "starting 2000 nodes\n  kubelet started\n"),
        (ClusterSpec(real=REAL), "starting Kubernetes 1.37.1: apiserver, controllers\n  kubelet started\n"),
    ],
    ids=["few nodes", "without drivers", "with drivers", "very many nodes", "real components"],
)
def test_a_start_that_takes_seconds_shows_its_steps(
    spec: ClusterSpec, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    progress(spec)("kubelet started")
    assert capsys.readouterr().err == says


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["restart", "--name", "red", "apiserver"], "restarting apiserver\n"),
        (["restart", "--name", "red", "scheduler"], ""),
        (["down", "--name", "red"], "stopping Kubernetes 1.37.1: apiserver, controllers\n"),
    ],
)
def test_what_real_components_are_asked_to_do_is_said_before(home: ClusterHome, command: list[str], says: str) -> None:
    done = CliRunner().invoke(cluster, command)
    assert (done.exit_code, done.stderr) == (0, says)


@pytest.mark.parametrize(
    ("method", "command", "says"),
    [
        (
            "restart",
            ["restart", "--name", "red", "apiserver"],
            "restarting apiserver\ninterrupted; the cluster's process goes on with the restart, and "
            "`drakit cluster logs --name red apiserver` says how it ends\n",
        ),
        (
            "stop",
            ["down", "--name", "red"],
            "stopping Kubernetes 1.37.1: apiserver, controllers\ninterrupted; the cluster may still be ending, and "
            "`drakit cluster down --name red` again waits for it and removes its files\n",
        ),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_interrupts_reads_what_goes_on(
    home: ClusterHome,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    command: list[str],
    says: str,
    number: signal.Signals,
) -> None:
    """However: by Ctrl-C, by SIGTERM, or with the terminal."""
    monkeypatch.setattr(LocalCluster, method, lambda *_, **__: signal.raise_signal(number))
    done = CliRunner().invoke(cluster, command)
    assert (done.exit_code, done.stderr) == (130, says)
    assert home.read_spec() is not None


@pytest.mark.slow
@pytest.mark.parametrize(("real", "shown"), [(REAL, ["cluster: etcd started"]), (frozenset[Component](), [])])
def test_a_test_run_shows_the_steps_of_real_components(
    monkeypatch: pytest.MonkeyPatch, real: frozenset[Component], shown: list[str]
) -> None:
    terminal = Mock()
    config = Mock()
    config.getoption = {"drakit_cluster": "binaries"}.get
    config.pluginmanager.getplugin = {"terminalreporter": terminal, "capturemanager": None}.get

    def started(spec: ClusterSpec, home: ClusterHome, *, temporary: bool, report: Callable[[str], None]) -> Mock:
        report("etcd started")
        return Mock()

    monkeypatch.setattr(session_clusters, "LocalCluster", started)
    with SessionClusters(config) as clusters:
        clusters.start(ClusterSpec(real=real))
    assert [call.args[0] for call in terminal.write_line.call_args_list] == shown
