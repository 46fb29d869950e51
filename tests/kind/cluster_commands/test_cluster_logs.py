"""One rule says what the log of a component is, for the command and for tests."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from drakit_kind.cli.drakit_command import main
from drakit_kind.cluster import ClusterSpec, Component
from drakit_kind.clusters import cluster_logs
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster

SUPERVISOR = "apiserver started\nkube-scheduler ready, scheduler started\nkubelet started\n"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> ClusterHome:
    """Of a cluster with a real scheduler and real nodes, which has ended."""
    monkeypatch.setenv("DRAKIT_HOME", str(tmp_path_factory.mktemp("state")))
    home = ClusterHome.of("default")
    home.write_spec(ClusterSpec(token="t", port=1, real=frozenset({"apiserver", "scheduler", "kubelet"})))
    home.log.write_text(SUPERVISOR)
    home.logs.mkdir()
    for name, text in {
        "kube-scheduler": "placing pod foo\n",
        "kubelet-node-1": "one\n",
        "kubelet-node-2": "two\n",
        "containerd-node-1": "pulled\n",
        "guard": "",
        "kube-apiserver": "",
    }.items():
        home.component_log(name).write_text(text)
    return home


@pytest.mark.parametrize(
    ("component", "log"),
    [
        ("scheduler", "placing pod foo\n"),
        ("kubelet", "== containerd-node-1\npulled\n== kubelet-node-1\none\n== kubelet-node-2\ntwo\n"),
        # It is real too, but has printed nothing: what the supervisor knows is better than nothing.
        ("apiserver", "apiserver started\n"),
        ("controllers", ""),
        (
            None,
            f"== drakit\n{SUPERVISOR}== containerd-node-1\npulled\n== kube-scheduler\nplacing pod foo\n"
            "== kubelet-node-1\none\n== kubelet-node-2\ntwo\n",
        ),
    ],
)
def test_a_component_has_one_log(home: ClusterHome, component: Component | None, log: str) -> None:
    assert LocalCluster(ClusterSpec(token="t", port=1), home).logs(component) == log
    shown = CliRunner().invoke(main, ["cluster", "logs", *([component] if component else [])])
    assert (shown.exit_code, shown.output) == (0, log)


def test_what_a_component_of_an_earlier_run_has_printed_is_not_the_log_of_another_one(home: ClusterHome) -> None:
    home.write_spec(ClusterSpec(token="t", port=1, real=frozenset({"kubelet"})))
    assert list(cluster_logs.lines(home, "scheduler")) == ["kube-scheduler ready, scheduler started\n"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["proxy"], "'proxy' is not one of 'apiserver', 'controllers', 'scheduler', 'kubelet'"),
        (["--name", "none"], "Error: there is no cluster none; there are: default ("),
        (["--name", "x" * 300], "use at most 40 lower case letters"),
        (["--data-dir", "x" * 300], "x" * 300),
    ],
)
def test_a_log_that_is_not_there_is_an_error_of_one_line(home: ClusterHome, arguments: list[str], says: str) -> None:
    shown = CliRunner().invoke(main, ["cluster", "logs", *arguments])
    assert shown.exit_code in (1, 2)
    assert isinstance(shown.exception, SystemExit)
    assert says in shown.output
