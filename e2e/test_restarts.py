"""Components die and come back; running pods do not notice, and nothing is prepared twice or forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.cluster import Component
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import pod
from e2e.fence import await_controllers
from e2e.hardware import StartGpus
from e2e.ledger import AllFree, DevicesOf, OpenLedger
from e2e.matrix.versions import starts

pytestmark = pytest.mark.capability(
    "restarts of drivers and components",
    source="KEP-4381",
)


def _restarts(api: Api, name: str) -> int:
    statuses = api.get(PODS, name)["status"]["containerStatuses"]
    return sum(status["restartCount"] for status in statuses)


def _has_ended(seen: dict[str, Any]) -> bool:
    return all("terminated" in status["state"] for status in seen["status"]["containerStatuses"])


@pytest.mark.long
def test_a_driver_killed_while_preparing_finishes_after_its_restart(
    api: Api, gpus: StartGpus, devices_of: DevicesOf, all_free: AllFree, node: str
) -> None:
    gpu = gpus(nodes=[node])
    gpu.driver.pause()  # calls are accepted by the socket and never answered
    api.create(gpu.partitions("part", "2g.10gb"), pod("user", "part"))
    api.wait(PODS, "user", lambda seen: bool(seen["status"].get("startTime")), what="taken by its kubelet")
    gpu.driver.kill()
    api.wait_event("user", "FailedPrepareDynamicResources")
    gpu.driver.start()
    api.wait_running("user", timeout=60)
    uid = api.get(RESOURCE_CLAIMS, "part")["metadata"]["uid"]
    assert len(gpu.driver.prepare_calls(uid)) == 1
    assert devices_of("part")[0] in api.environment("user").values()
    api.delete(PODS, "user")
    api.wait_gone(PODS, ["user"], timeout=60)
    all_free("part")
    assert gpu.driver.cdi_files(node) == []


def test_pods_run_on_while_their_driver_is_away_and_end_when_it_is_back(
    api: Api, gpus: StartGpus, ledger: OpenLedger, all_free: AllFree, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb"), pod("user", "part"))
    api.wait_running("user")
    uid = api.get(RESOURCE_CLAIMS, "part")["metadata"]["uid"]
    gpu.driver.kill()
    api.create(pod("other"))
    api.wait_running("other")
    assert (api.get(PODS, "user")["status"]["phase"], _restarts(api, "user")) == ("Running", 0)
    api.delete(PODS, "user")
    api.wait(PODS, "user", _has_ended, what="ended, with its devices still prepared")
    # So it stays, longer than a pod without devices takes to go, and nobody else gets them.
    api.delete(PODS, "other")
    api.wait_gone(PODS, ["other"])
    assert _has_ended(api.get(PODS, "user"))
    assert ledger(gpu.name).holders != {}  # whatever has become of the slices, which a kubelet removes in the end
    gpu.driver.start()
    api.wait_gone(PODS, ["user"], timeout=60)
    all_free("part")
    assert len(gpu.driver.prepare_calls(uid)) == 1
    assert gpu.driver.cdi_files(node) == []
    assert ledger(gpu.name).used() == {}


@pytest.mark.alone
def test_a_restarted_kubelet_wipes_the_slices_and_the_driver_brings_them_back(
    api: Api, cluster: Cluster, gpus: StartGpus, ledger: OpenLedger, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb"), pod("user", "part"))
    api.wait_running("user")
    uid = api.get(RESOURCE_CLAIMS, "part")["metadata"]["uid"]
    before = ledger(gpu.name)
    old = {item["metadata"]["uid"] for item in _slices(api, gpu.name)}
    cluster.restart("kubelet")
    api.wait_all(
        RESOURCE_SLICES,
        lambda seen: len(new := _uids(seen, gpu.name)) == len(old) and not new & old,
        what="published anew",
        timeout=60,
    )
    assert ledger(gpu.name).devices == before.devices
    api.create(gpu.partitions("next", "1g.5gb"), pod("second", "next"))
    api.wait_running("second", timeout=60)
    # By now the kubelet has looked at all its pods.
    assert (api.get(PODS, "user")["status"]["phase"], _restarts(api, "user")) == ("Running", 0)
    assert len(gpu.driver.prepare_calls(uid)) == 1
    ledger(gpu.name).check()


def _slices(api: Api, driver: str) -> list[dict[str, Any]]:
    return api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")


def _uids(slices: list[dict[str, Any]], driver: str) -> set[str]:
    return {item["metadata"]["uid"] for item in slices if item["spec"]["driver"] == driver}


@pytest.mark.parametrize("component", [pytest.param("apiserver", marks=pytest.mark.alone), "controllers", "scheduler"])
def test_a_restarted_component_takes_up_where_it_was(
    api: Api, cluster: Cluster, gpus: StartGpus, ledger: OpenLedger, all_free: AllFree, component: Component, node: str
) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("part", "1g.5gb"), pod("user", "part"))
    api.wait_running("user")
    kept = api.get(PODS, "user")
    before = starts(component, cluster.logs(component))
    cluster.restart(component)
    await_controllers(api)
    assert starts(component, cluster.logs(component)) - before, "it was not started again"
    again = api.get(PODS, "user")
    assert again["metadata"]["uid"] == kept["metadata"]["uid"]
    assert int(again["metadata"]["resourceVersion"]) >= int(kept["metadata"]["resourceVersion"])
    api.create(gpu.partitions("next", "1g.5gb"), pod("second", "next"))
    api.wait_running("second", timeout=60)
    # What is new now, classes and slices too, is seen as well.
    new = gpus(nodes=[node], name=f"new.{gpu.name}")
    api.create(new.partitions("newest", "1g.5gb"), pod("third", "newest"))
    api.wait_running("third", timeout=60)
    ledger(gpu.name).check()
    assert _restarts(api, "user") == 0
    for name in ("user", "second", "third"):
        api.delete(PODS, name)
    api.wait_gone(PODS, ["user", "second", "third"])
    for name in ("part", "next", "newest"):
        all_free(name)


@pytest.mark.long
def test_a_driver_that_stays_away_takes_its_devices_out_of_the_cluster(api: Api, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    gpu.driver.kill()
    gpu.driver.forget_registration()
    api.wait_all(RESOURCE_SLICES, lambda seen: _uids(seen, gpu.name) == set(), what="wiped", timeout=90)
    gpu.driver.start()
    api.create(gpu.partitions("part", "1g.5gb"), pod("user", "part"))
    api.wait_running("user", timeout=60)
