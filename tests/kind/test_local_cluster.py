"""An embedded cluster that is killed loses nothing that it had acknowledged, and takes its pods up again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_client.resources import CONFIG_MAPS, PODS, RESOURCE_CLAIMS
from drakit_kind import manifests
from drakit_kind.api import Api
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, DriverSpec
from drakit_kind.home import ClusterHome
from drakit_kind.local import LocalCluster


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    home = ClusterHome.temporary()
    spec = ClusterSpec(nodes=["node-1"], drivers=[DriverSpec(profile="a100-40gb", nodes=["node-1"])])
    cluster = LocalCluster(spec, home)
    cluster.start()
    yield cluster
    cluster.stop()
    shutil.rmtree(home.directory)


def _partition(name: str) -> list[manifests.Object]:
    request = manifests.request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'")
    return [manifests.claim(name, request), manifests.pod(name, name)]


def test_a_killed_cluster_continues_where_it_was(cluster: LocalCluster) -> None:
    with Api(cluster.kubeconfig) as api:
        api.create(*_partition("before"))
        (running,) = api.wait_running("before")
        held = api.get(RESOURCE_CLAIMS, "before")
        acknowledged = []
        for number in range(50):
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"written-{number}"}}
            acknowledged.append(api.create(config_map))
        cluster.kill()
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


def test_gates_that_kubernetes_refuses_cost_no_running_component(cluster: LocalCluster) -> None:
    with pytest.raises(ClusterError, match="feature is locked to true"):
        cluster.restart("apiserver", gates={"DRAPrioritizedList": False})
    with Api(cluster.kubeconfig) as api:
        assert api.objects(PODS) == []


def test_a_directory_too_deep_for_sockets_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60)
    cluster = LocalCluster(ClusterSpec(nodes=["node-1"]), ClusterHome(deep))
    with pytest.raises(ClusterError, match=r"bytes too long for the unix sockets below it; set DRAKIT_HOME"):
        cluster.start()
    assert not deep.exists()


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
