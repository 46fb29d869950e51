"""An embedded cluster that is killed loses nothing that it had acknowledged, and takes its pods up again."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import CONFIG_MAPS, PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster
from drakit_kind.nodes import leftovers
from drakit_kind.processes import spawn


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    home = ClusterHome.temporary()
    spec = ClusterSpec(nodes=["node-1"], drivers=[DriverSpec(profile="a100-40gb", nodes=["node-1"])])
    cluster = LocalCluster(spec, home)
    cluster.start()
    yield cluster
    cluster.stop()
    shutil.rmtree(home.directory)


def _partition(name: str) -> list[Object]:
    request = manifests.request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'")
    return [manifests.claim(name, request), manifests.pod(name, name)]


@pytest.mark.slow
def test_a_killed_cluster_continues_where_it_was(cluster: LocalCluster) -> None:
    with Api(cluster.kubeconfig) as api:
        api.create(*_partition("before"))
        (running,) = api.wait_running("before")
        held = api.get(RESOURCE_CLAIMS, "before")
        acknowledged = []
        for number in range(50):
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"written-{number}"}}
            acknowledged.append(api.create(config_map))
        pid = cluster.home.running_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        cluster.stop()
    cluster.start()
    with Api(cluster.kubeconfig) as api:
        assert [api.get(CONFIG_MAPS, kept["metadata"]["name"]) for kept in acknowledged] == acknowledged
        assert api.get(RESOURCE_CLAIMS, "before")["status"] == held["status"]
        again = api.get(PODS, "before")
        assert again["metadata"]["uid"] == running["metadata"]["uid"]
        assert again["status"]["phase"] == "Running"
        api.create(*_partition("after"))
        api.wait_running("after")
        devices = {
            claim["status"]["allocation"]["devices"]["results"][0]["device"] for claim in api.objects(RESOURCE_CLAIMS)
        }
        assert len(devices) == 2
        for name in ("before", "after"):
            api.delete(PODS, name)
        api.wait_gone(PODS, ["before", "after"])


@pytest.mark.slow
def test_nothing_is_imported_from_the_directory_where_a_cluster_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    home = ClusterHome.temporary()
    cluster = LocalCluster(ClusterSpec(nodes=["node-1"]), home)
    try:
        cluster.start()
        driver = cluster.driver(DriverSpec(profile="a30", nodes=["node-1"]))
        driver.start()
        driver.stop()
    finally:
        cluster.stop()
        shutil.rmtree(home.directory)
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_everything_of_a_cluster_is_private_to_its_user(cluster: LocalCluster) -> None:
    directory = cluster.home.directory
    open_to_others = [
        path
        for path in [directory, *directory.rglob("*")]
        if path.lstat().st_mode & 0o077 and not any(parent.stat().st_mode & 0o077 == 0 for parent in path.parents)
    ]
    assert open_to_others == []
    secrets = [cluster.home.spec_file, cluster.kubeconfig, cluster.home.store, cluster.home.log]
    assert [path.name for path in secrets if path.stat().st_mode & 0o077] == []


@pytest.mark.slow
def test_gates_that_kubernetes_refuses_cost_no_running_component(cluster: LocalCluster) -> None:
    with pytest.raises(ClusterError, match="feature is locked to true"):
        cluster.restart("apiserver", gates={"DRAPrioritizedList": False})
    with Api(cluster.kubeconfig) as api:
        assert api.objects(PODS) == []


def test_another_system_than_linux_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    home = ClusterHome(tmp_path / "home")
    with pytest.raises(ClusterError, match=r"clusters of drakit need Linux, and this is darwin: .* virtual machine"):
        LocalCluster(ClusterSpec(), home).start()
    assert not home.directory.exists()


@pytest.mark.slow
def test_a_directory_may_be_deep_and_a_drivers_name_long(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path / ("x" * 100) / "home")
    name = "gpu.dra-example-driver.sigs.k8s.io"
    cluster = LocalCluster(ClusterSpec(nodes=["node-1"]), home, temporary=True)
    try:
        cluster.start()
        assert home.nodes.resolve() == home.directory / "n"
        driver = cluster.driver(DriverSpec(profile="a100-40gb", nodes=["node-1"], gpus=1, name=name))
        driver.start()
        try:
            assert len(str(home.directory / "n/node-1/plugins_registry" / f"{name}-reg.sock")) > 107
        finally:
            driver.stop()
    finally:
        cluster.stop()
    assert home.nodes == home.directory / "n", "the short name is gone"


def test_a_directory_too_deep_for_mounts_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60)
    with pytest.raises(ClusterError, match=r"bytes too long for the unix sockets below it; set DRAKIT_HOME"):
        ClusterHome(deep).make(["node-1"], mounts=True)
    assert not deep.exists()


def test_a_node_name_too_long_for_sockets_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    home = ClusterHome(Path("/tmp") / tmp_path.name)
    spec = ClusterSpec(nodes=["n" * 60])
    with pytest.raises(ClusterError, match=r"bytes too long for the unix sockets .*; give nodes shorter names"):
        LocalCluster(spec, home).start()
    assert not home.directory.exists()


@pytest.mark.parametrize("real", [{"scheduler"}, {"kubelet"}, {"apiserver", "controllers"}])
def test_programs_of_kubernetes_need_tls(tmp_path: Path, real: set[Component]) -> None:
    with pytest.raises(ClusterError, match=r"--no-tls goes with drakit's own components only.* or --real"):
        LocalCluster(ClusterSpec(tls=False, real=frozenset(real)), ClusterHome(tmp_path)).start()


def test_what_a_machine_lacks_for_real_nodes_is_found_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    home = ClusterHome(tmp_path / "home")
    with pytest.raises(ClusterError, match="real nodes need root"):
        LocalCluster(ClusterSpec(nodes=["node-1"], real=frozenset({"kubelet"})), home).start()
    assert not home.directory.exists()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"gates": {"ImageVolume": True}}, "apiserver: unrecognized feature gate: ImageVolume"),
        ({"version": "1.38.0"}, r"apiserver: emulation version 1\.38 is not between"),
    ],
)
def test_what_our_components_do_not_know_is_refused_before_anything_is_made(
    tmp_path: Path, fields: dict[str, Any], says: str
) -> None:
    home = ClusterHome(tmp_path / "home")
    with pytest.raises(ClusterError, match=says):
        LocalCluster(ClusterSpec(nodes=["node-1"], **fields), home).start()
    assert not home.directory.exists()


@pytest.mark.slow
def test_the_start_of_one_who_comes_second_changes_nothing(cluster: LocalCluster) -> None:
    """He has looked, as the first one did, and seen no cluster."""
    second = LocalCluster(ClusterSpec(), cluster.home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterHome, "running_pid", lambda home: None)
        with cluster.home.starting(), pytest.raises(ClusterError, match="another process is just starting this"):
            second.start()
    with pytest.raises(ClusterError, match="is running already"):
        second.start()
    kept = cluster.home.read_spec()
    assert kept is not None
    assert (kept.token, kept.port) == (cluster.spec.token, cluster.spec.port)


@pytest.mark.slow
def test_a_cluster_is_ready_once_also_if_its_starter_does_not_live_to_see_it(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own process says so, and a later start that fails changes nothing about it."""
    cluster.stop()
    cluster.home.never_ready.touch()
    again = LocalCluster(cluster.spec, cluster.home)
    again.start()
    again.stop()
    assert not cluster.home.never_ready.exists()
    monkeypatch.setattr(spawn, "spawn", Mock(side_effect=spawn.SpawnError("etcd ended")))
    with pytest.raises(ClusterError, match="did not start"):
        LocalCluster(cluster.spec, cluster.home).start()
    assert cluster.home.was_ready


@pytest.mark.slow
def test_of_a_running_cluster_that_is_said_before_anything_else(cluster: LocalCluster) -> None:
    wrong = DriverSpec(profile="a30", nodes=["node-77"])
    with pytest.raises(ClusterError, match="is running already"):
        LocalCluster(ClusterSpec(nodes=["node-1"], drivers=[wrong]), cluster.home).start()


@pytest.mark.slow
def test_why_a_cluster_does_not_start_is_told_also_if_cleaning_up_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    home = ClusterHome.temporary()
    problems = iter([None, ClusterError("the bridge is busy")])

    def undo(directory: Path) -> None:
        if problem := next(problems):
            raise problem

    def spawned(*_: object, **__: object) -> None:
        raise spawn.SpawnError("etcd ended")

    monkeypatch.setattr(leftovers, "undo_dead", undo)
    monkeypatch.setattr(spawn, "spawn", spawned)
    with pytest.raises(ClusterError, match="cluster default did not start: etcd ended") as failed:
        LocalCluster(ClusterSpec(), home).start()
    assert failed.value.__notes__ == ["cleaning up failed too: the bridge is busy"]
    shutil.rmtree(home.directory)


def test_a_driver_whose_name_is_none_becomes_no_path(tmp_path: Path) -> None:
    cluster = LocalCluster(ClusterSpec(nodes=["node-1"]), ClusterHome(tmp_path))
    with pytest.raises(ClusterError, match=r'"\.\./x" is not a DNS subdomain'):
        cluster.driver(DriverSpec(profile="a30", nodes=["node-1"], name="../x"))


@pytest.mark.slow
def test_each_component_is_restarted_while_the_others_go_on(cluster: LocalCluster) -> None:
    with Api(cluster.kubeconfig) as api:
        api.create(*_partition("before"))
        api.wait_running("before")
        for component in COMPONENTS:
            cluster.restart(component)
            assert f"{component} restarted" in cluster.logs()
        api.create(*_partition("after"))
        api.wait_running("before", "after")
        for name in ("before", "after"):
            api.delete(PODS, name)
        api.wait_gone(PODS, ["before", "after"])
