"""One component as another version or with other gates, and as it was before where that does not work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.kind import restarts
from drakit_kind.kind.config import MAIN_PROGRAMS
from drakit_kind.kind.restarts import Restarts
from drakit_kind.kubernetes.assets import Assets
from tests.kind.kind.machines import BROKEN, KUBELET, KUBELET_CONFIG, Machines

SPEC = ClusterSpec(name="story", nodes=["a", "b"], real=frozenset(COMPONENTS))
_STATIC_PODS: tuple[Component, ...] = ("apiserver", "controllers", "scheduler")
OLD, NEW = "1.36.3", "1.37.1"


@pytest.fixture(autouse=True)
def _binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two versions; each one's kubelet contains its version and nothing else."""
    for version in (OLD, NEW):
        for program in MAIN_PROGRAMS.values():
            (tmp_path / version).mkdir(exist_ok=True)
            (tmp_path / version / program).write_text(version)
            (tmp_path / version / program).chmod(0o755)
    monkeypatch.setattr(restarts, "assets_of", lambda spec, version: Assets(version, (tmp_path / version,), ()))
    monkeypatch.setattr(restarts, "_PAUSE", 0)


@pytest.fixture
def machines() -> Machines:
    return Machines(SPEC.nodes, NEW, [MAIN_PROGRAMS[each] for each in _STATIC_PODS])


@pytest.fixture
def changes(machines: Machines, tmp_path: Path) -> Restarts:
    return _restarts(SPEC, machines, tmp_path)


def _restarts(spec: ClusterSpec, machines: Machines, directory: Path) -> Restarts:
    return Restarts(spec, cast(Any, machines), cast(Any, machines), scratch=directory)


def _container(machines: Machines, program: str) -> dict[str, Any]:
    (container,) = machines.manifest(program)["spec"]["containers"]
    return dict(container)


@pytest.mark.parametrize("component", _STATIC_PODS)
def test_a_component_comes_back_as_another_version_with_other_gates(
    machines: Machines, changes: Restarts, component: Component
) -> None:
    program = MAIN_PROGRAMS[component]
    changes.restart(component, Behaviour(version=OLD, gates={"DRADeviceTaints": False}))
    container = _container(machines, program)
    assert container["image"] == f"registry.k8s.io/{program}:v{OLD}"
    assert "--feature-gates=DRADeviceTaints=false" in container["command"]
    assert "--bind-address=127.0.0.1" in container["command"]
    assert machines.loaded == [f"{program}.tar"]

    changes.restart(component, Behaviour(version=NEW, emulated_version="1.36"))
    container = _container(machines, program)
    assert container["image"] == f"registry.k8s.io/{program}:v{NEW}"
    assert "--emulated-version=kube=1.36" in container["command"]
    assert not any(word.startswith("--feature-gates") for word in container["command"])
    changes.restart(component, Behaviour(version=OLD))
    assert machines.loaded == [f"{program}.tar"]  # both versions' images are in the node by now


@pytest.mark.parametrize("unseen", [None, 1, 2])
def test_a_restart_is_over_when_a_container_that_was_not_there_before_is_healthy(
    machines: Machines, changes: Restarts, unseen: int | None
) -> None:
    """The one before answers until it has ended; one look at containers that shows none proves nothing."""
    changes.restart("scheduler", Behaviour(version=OLD))
    machines.unseen = unseen
    changes.restart("scheduler", Behaviour(version=NEW))
    assert machines.images_that_run() >= {f"registry.k8s.io/kube-scheduler:v{NEW}"}


def test_the_api_server_is_back_when_pods_of_all_nodes_reach_it(machines: Machines, changes: Restarts) -> None:
    """By its Service, of which each node's kube-proxy hears some seconds later; drivers use nothing else."""
    machines.away = {"a": 2, "b": 1}
    changes.restart("apiserver", Behaviour(version=OLD))
    assert machines.away == {"a": 0, "b": 0}
    assert sorted(machines.asked) == ["a", "a", "a", "b", "b"]
    changes.restart("scheduler", Behaviour(version=OLD))
    assert len(machines.asked) == 5


def test_what_kind_makes_of_one_version_becomes_what_the_spec_says(machines: Machines, tmp_path: Path) -> None:
    spec = replace(SPEC, version=NEW, versions={"scheduler": OLD}, gates={"DRADeviceTaints": False})
    changes = _restarts(spec, machines, tmp_path)
    before = {program: machines.manifest(program) for program in machines.static_pods()}
    changes.settle()
    container = _container(machines, "kube-scheduler")
    assert container["image"] == f"registry.k8s.io/kube-scheduler:v{OLD}"
    assert "--feature-gates=DRADeviceTaints=false" in container["command"]
    assert machines.loaded == ["kube-scheduler.tar"]
    for program in ("kube-apiserver", "kube-controller-manager"):
        assert machines.manifest(program) == before[program]
    assert machines.started == []


def test_an_image_on_its_way_into_a_node_is_in_the_clusters_directory(
    changes: Restarts, machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With which it goes, however the test run ends; in /tmp it would stay."""
    seen: list[Path] = []
    monkeypatch.setattr(machines, "load", lambda archive, _: seen.append(archive))
    before = set(tmp_path.iterdir())
    changes.restart("scheduler", Behaviour(version=OLD))
    assert [archive.parent.parent for archive in seen] == [tmp_path]
    assert set(tmp_path.iterdir()) == before


def test_who_joins_a_cluster_puts_back_what_was_there_and_not_what_kind_has_made(
    machines: Machines, tmp_path: Path
) -> None:
    spec = replace(SPEC, version=NEW, versions={"scheduler": OLD}, gates={"DRADeviceTaints": False})
    _restarts(spec, machines, tmp_path).settle()
    before = machines.manifest("kube-scheduler")
    joined = _restarts(spec, machines, tmp_path)
    with pytest.raises(ClusterError, match="restart of kube-scheduler"):
        joined.restart("scheduler", Behaviour(version=OLD, gates={BROKEN: True}))
    assert machines.manifest("kube-scheduler") == before


def test_an_image_whose_binary_is_not_here_is_left_to_the_node(
    machines: Machines, changes: Restarts, tmp_path: Path
) -> None:
    (tmp_path / OLD / "kube-scheduler").unlink()
    changes.restart("scheduler", Behaviour(version=OLD))
    assert _container(machines, "kube-scheduler")["image"] == f"registry.k8s.io/kube-scheduler:v{OLD}"
    assert machines.loaded == []


def test_a_component_that_does_not_come_back_is_put_back_as_it_was(machines: Machines, changes: Restarts) -> None:
    changes.restart("scheduler", Behaviour(version=NEW, gates={"DRADeviceTaints": False}))
    before = machines.manifest("kube-scheduler")
    with pytest.raises(
        ClusterError,
        match=r"restart of kube-scheduler: it ended 3 times; the end of its log:\n  kube-scheduler does not",
    ):
        changes.restart("scheduler", Behaviour(version=OLD, gates={BROKEN: True}))
    assert machines.manifest("kube-scheduler") == before


def test_one_that_neither_ends_nor_gets_ready_is_not_waited_for_without_end(
    machines: Machines, changes: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "_READY_SECONDS", 0.2)
    monkeypatch.setattr(restarts, "_CRASHES", 100)
    before = machines.manifest("kube-apiserver")
    with pytest.raises(ClusterError, match="restart of kube-apiserver: it is not done after 0 s"):
        changes.restart("apiserver", Behaviour(version=NEW, gates={BROKEN: True}))
    assert _container(machines, "kube-apiserver")["image"] == before["spec"]["containers"][0]["image"]
    assert not any(BROKEN in word for word in _container(machines, "kube-apiserver")["command"])


def test_of_one_that_does_not_even_start_the_kubelet_says_why(
    machines: Machines, changes: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "_READY_SECONDS", 0.2)
    machines.has_images = False
    with pytest.raises(ClusterError, match=r"the end of its log:\n  kube-scheduler: ErrImagePull$"):
        changes.restart("scheduler", Behaviour(version=OLD))


def test_a_removed_component_is_gone(machines: Machines, changes: Restarts) -> None:
    changes.remove("scheduler")
    assert machines.static_pods() == {"kube-apiserver", "kube-controller-manager"}


@pytest.mark.slow
def test_kubelets_of_all_nodes_become_another_version_and_what_they_were(machines: Machines, changes: Restarts) -> None:
    gates = {"DRADerivedAttributes": True, "DRADeviceTaints": True}
    changes.restart("kubelet", Behaviour(version=OLD, gates=gates))
    assert sorted(machines.started) == [("a", OLD), ("b", OLD)]
    for node in SPEC.nodes:
        assert machines.files[node][KUBELET] == OLD.encode()
        # What the one before has said of itself is in the Node until the new one reports.
        assert machines.nodes[node]["status"]["nodeInfo"]["kubeletVersion"] == f"v{OLD}"
        # The older one would end at the gate that it does not know.
        assert machines.read_yaml(node, KUBELET_CONFIG)["featureGates"] == {"DRADeviceTaints": True}
    written = len(machines.written)
    changes.restart("kubelet", Behaviour(version=NEW))
    assert {machines.files[node][KUBELET] for node in SPEC.nodes} == {NEW.encode()}
    assert "featureGates" not in machines.read_yaml("a", KUBELET_CONFIG)
    # The node has kept its first kubelet: only configurations are written.
    assert {path for _, path in machines.written[written:]} == {KUBELET_CONFIG}


def test_kubelets_are_not_told_of_gates_that_are_locked_in_their_own_version(
    machines: Machines, changes: Restarts
) -> None:
    gates = {"DRAPrioritizedList": False, "DRADeviceTaints": False}
    changes.restart("kubelet", Behaviour(version=NEW, emulated_version="1.34", gates=gates))
    assert machines.read_yaml("a", KUBELET_CONFIG)["featureGates"] == {"DRADeviceTaints": False}


@pytest.mark.slow
def test_a_kubelet_that_does_not_come_back_is_put_back_as_it_was(machines: Machines, changes: Restarts) -> None:
    with pytest.raises(
        ClusterError, match=r"restart of the kubelet of [ab]: it ended 2 times; the end of its log:\n  kubelet of"
    ):
        changes.restart("kubelet", Behaviour(version=OLD, gates={BROKEN: True}))
    for node in SPEC.nodes:
        assert machines.files[node][KUBELET] == NEW.encode()
        assert "featureGates" not in machines.read_yaml(node, KUBELET_CONFIG)
    assert set(machines.started[-2:]) == {("a", NEW), ("b", NEW)}
