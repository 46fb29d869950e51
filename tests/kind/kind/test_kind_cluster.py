"""A kind cluster that does not start says why, whatever else goes wrong."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec
from drakit_kind.clusters.api import WaitTimeout
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind import backend as cluster
from drakit_kind.kind import removal
from drakit_kind.kind.backend import KindCluster
from drakit_kind.kind.node_images import images
from drakit_kind.kind.nodes import Nodes
from tests.kind.kind.fake_docker import FakeDocker

SPEC = ClusterSpec(name="story", nodes=["a"], real=frozenset(COMPONENTS))


class NoGuard:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def dismiss(self) -> None: ...


@pytest.fixture(autouse=True)
def _this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cluster, "Guard", NoGuard)
    monkeypatch.setattr(removal, "_PAUSE", 0)


@pytest.mark.slow
def test_the_reason_of_a_failed_start_is_told_although_the_daemon_is_gone_too(
    fake: FakeDocker, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers("exit 0")

    def no_images(*_: object) -> None:
        fake.answers("echo 'the daemon is gone' >&2; exit 1")
        raise ClusterError("no node image")

    monkeypatch.setattr(images, "node_images", no_images)
    with pytest.raises(ClusterError, match="no node image") as error:
        KindCluster(SPEC, ClusterHome(home), kind=sys.executable).start()
    (note,) = error.value.__notes__
    assert "the daemon is gone" in note


@pytest.mark.slow
def test_what_the_daemon_still_makes_after_an_interrupted_start_goes_too(
    fake: FakeDocker, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had been asked for a container when kind was killed, and answers a look before that one is there."""
    fake.answers("""case "$*" in
"ps --all --quiet"*) [ $(grep -c "^ps --all --quiet" "$(dirname "$0")/calls") != 2 ] || echo late-node;;
esac""")
    dismissed: list[int] = []
    monkeypatch.setattr(NoGuard, "dismiss", lambda _: dismissed.append(len(fake.calls)))
    _starts_with_images(monkeypatch, home)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    made = KindCluster(SPEC, ClusterHome(home), kind=sys.executable)
    monkeypatch.setattr(made, "_adapter", interrupted)
    monkeypatch.setattr(cluster, "kind_config", lambda *_, **__: {})
    with pytest.raises(KeyboardInterrupt):
        made.start()
    assert "rm --force --volumes late-node" in fake.calls
    assert dismissed == [len(fake.calls)]


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        (SPEC, "1.37"),
        (replace(SPEC, emulated_version="1.36"), "1.36"),
        (replace(SPEC, versions={"apiserver": "1.36.3"}), "1.37"),
    ],
    ids=["plain", "emulating", "an API server that will be older"],
)
def test_a_node_image_whose_version_no_tag_tells_must_be_what_was_asked_for(
    home: Path, spec: ClusterSpec, runs: str
) -> None:
    made = KindCluster(spec, ClusterHome(home), image="my/node")
    made._check_version(runs, "my/node")
    with pytest.raises(
        ClusterError, match=rf"^node image my/node: .* is Kubernetes 1\.35, and {runs} was .* --drakit-kind-image"
    ):
        made._check_version("1.35", "my/node")


@pytest.mark.slow
@pytest.mark.parametrize("reason", [WaitTimeout("not ready"), ClusterError("not ready"), ConnectionError("not ready")])
def test_a_cluster_that_does_not_start_tells_the_ends_of_all_logs_and_keeps_them(
    fake: FakeDocker, home: Path, monkeypatch: pytest.MonkeyPatch, reason: Exception
) -> None:
    """They are gone with its nodes."""
    _starts_with_images(monkeypatch, home)
    fake.answers("exit 0")
    made = KindCluster(SPEC, ClusterHome(home), kind=sys.executable)

    def not_ready(chosen: object) -> None:
        fake.answers(f"""case "$*" in
"ps --all --quiet"* | "ps --all --filter"*) echo {made.name}-control-plane;;
*) seq 100 199;;
esac""")
        raise reason

    monkeypatch.setattr(made, "_create", not_ready)
    monkeypatch.setattr(made, "_adapter", lambda *_, **__: None)
    with pytest.raises(ClusterError, match=r"^cluster story did not start: not ready\n== etcd\n") as error:
        made.start()
    lines = str(error.value).splitlines()
    heads = [line for line in lines if line.startswith("== ")]
    assert {"== kube-apiserver", "== kubelet of a", "== drakit's scheduler"} <= {*heads}
    assert lines[2:10] == [str(number) for number in range(192, 200)]
    assert (home / "logs" / "kubelet-of-a.log").read_text().splitlines() == [str(number) for number in range(100, 200)]
    assert len(list((home / "logs").iterdir())) == len(heads)


def test_components_have_their_versions_before_anything_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    made = KindCluster(SPEC, ClusterHome(home), kind=sys.executable)
    monkeypatch.setattr(cluster, "Restarts", lambda *_, **__: SimpleNamespace(settle=lambda: steps.append("settle")))
    monkeypatch.setattr(made, "_api", object())
    monkeypatch.setattr(made, "_apply", lambda objects: steps.append("apply"))
    monkeypatch.setattr(made, "_start_scheduler", lambda: steps.append("scheduler"))
    made._set_up()
    assert steps == ["settle", "apply", "scheduler"]


@pytest.mark.slow
def test_who_joins_uses_the_image_that_is_in_the_nodes(
    fake: FakeDocker, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if somebody has edited the source since, from which another one would be made."""
    fake.answers("exit 0")
    _starts_with_images(monkeypatch, home)
    starts, joins = (KindCluster(SPEC, ClusterHome(home), kind=sys.executable) for _ in range(2))
    monkeypatch.setattr(starts, "_create", lambda chosen: None)
    monkeypatch.setattr(starts, "_set_up", lambda: None)
    monkeypatch.setattr(Nodes, "load", lambda *_: None)
    starts.start()
    monkeypatch.setattr(images, "pod_images", lambda report: iter([("localhost/drakit:edited", home / "image.tar")]))
    (home / "kubeconfig").write_text(_KUBECONFIG)
    joins.join()
    assert joins._driver_image == "localhost/drakit:now"
    joins.leave()


def _starts_with_images(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(images, "node_images", lambda *_: images.NodeImages({}, dns=False))
    monkeypatch.setattr(images, "pod_images", lambda report: iter([("localhost/drakit:now", home / "image.tar")]))


_KUBECONFIG = """
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


_LOGS = """case "$*" in
*etcd*) echo 'the daemon hiccups' >&2; exit 1;;
*journalctl*) echo "$2: ${5##* }";;
*/var/log/pods*) echo "2026-01-01T12:00:00Z stderr F in $2";;
esac
"""


@pytest.mark.slow
def test_the_log_of_a_component_has_each_of_its_programs_on_each_node(fake: FakeDocker, home: Path) -> None:
    """One that cannot be read does not take the others along."""
    fake.answers(_LOGS)
    shown = KindCluster(SPEC, ClusterHome(home), kind=sys.executable)
    name = shown.name
    head, problem, *rest = filter(None, shown.logs("apiserver").splitlines())
    assert (head, rest) == ("== etcd", ["== kube-apiserver", f"in {name}-control-plane"])
    assert re.fullmatch("this cannot be told: .*: the daemon hiccups", problem)
    kubelets = shown.logs("kubelet").splitlines()
    heads = [line for line in kubelets if line.startswith("== ")]
    programs = ("kube-proxy", "containerd", "kubelet")
    assert heads == [f"== {program} of {node}" for node in (f"{name}-control-plane", "a") for program in programs]
    assert f"{name}-worker: containerd" in kubelets
