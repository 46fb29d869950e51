"""``drakit conformance --driver`` judges drivers that it has never seen: a sound one passes, a faulty one is shown."""

from __future__ import annotations

import html
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from drakit_client.resources import DEVICE_CLASSES, NAMESPACES, PODS, RESOURCE_SLICES
from drakit_kind.cluster import Driver
from drakit_kind.clusters.api import ALL_NAMESPACES, Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.conformance.records import Record, read
from e2e.subject import Subject, is_complete

_STORIES = 10
_SECONDS, _SECONDS_WITHOUT_DRIVER = 110.0, 300.0  # a judgement takes at most
_LONG = pytest.mark.timeout(_SECONDS_WITHOUT_DRIVER + 60)


def _judge(
    cluster: Cluster, driver: str, directory: Path, *options: str, status: int, seconds: float = _SECONDS
) -> tuple[list[Record], str, subprocess.CompletedProcess[str]]:
    """Records, page and output."""
    command = [sys.executable, "-m", "drakit_kind", "conformance", "--kubeconfig", str(cluster.kubeconfig)]
    command += ["--driver", driver, "--output", str(directory), "--", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return read(directory / "run-1" / "records.jsonl"), (directory / "index.html").read_text(), ended


def _publish(api: Api, driver: str, name: str, *, generation: int = 1, count: int = 1) -> None:
    """One slice of pool node-1, with one device."""
    pool = {"name": "node-1", "generation": generation, "resourceSliceCount": count}
    spec = {"driver": driver, "nodeName": "node-1", "pool": pool, "devices": [{"name": "device-0"}]}
    api.create(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec},
    )


@pytest.fixture
def incomplete(api: Api) -> Iterator[str]:
    """The name of a driver that has published one of two slices and prepares nothing."""
    name, first = f"{api.namespace}.example.com", f"{api.namespace}-first-of-two"
    _publish(api, name, first, count=2)
    yield name
    api.delete(RESOURCE_SLICES, first)


@pytest.fixture
def updating(api: Api) -> Iterator[tuple[str, str]]:
    """A driver's name and its slice of an older generation, which it has not removed yet."""
    name, older, newer = f"{api.namespace}.example.com", f"{api.namespace}-1", f"{api.namespace}-2"
    _publish(api, name, older, generation=1)
    _publish(api, name, newer, generation=2)
    yield name, older
    for each in (older, newer):
        api.delete(RESOURCE_SLICES, each)


@pytest.mark.slow
def test_a_sound_driver_passes_and_its_cluster_stays_as_it_was(
    cluster: Cluster, api: Api, driver: Callable[..., Driver], tmp_path: Path
) -> None:
    name = driver("a100-40gb", nodes=["node-1"]).name
    before = _names(api)
    records, page, ended = _judge(cluster, name, tmp_path, status=0)
    assert [record.outcome for record in records] == ["passed"] * _STORIES
    assert f"driver {name} on 1.37: {_STORIES} passed" in ended.stdout
    assert f"driver {name} on 1.37" in page
    assert _names(api) == before


def _names(api: Api) -> set[str]:
    """What a judgement might leave: namespaces and classes. Those of an earlier test are on their way."""
    there = [obj["metadata"] for resource in (NAMESPACES, DEVICE_CLASSES) for obj in api.objects(resource)]
    return {metadata["name"] for metadata in there if "deletionTimestamp" not in metadata}


@pytest.mark.slow
@pytest.mark.long
def test_a_faulty_driver_fails_and_the_page_says_what_is_wrong_with_it(
    cluster: Cluster, incomplete: str, tmp_path: Path
) -> None:
    # The others wait minutes for pods of a slow driver.
    stories = "every_pool_is_complete or unique_in_their_pool or given_out_twice"
    records, page, ended = _judge(cluster, incomplete, tmp_path, "-k", stories, status=1)
    assert {record.title: record.outcome for record in records} == {
        "every pool is complete and of one generation": "failed",
        "device names are unique in their pool": "passed",
        "no device is given out twice however many pods ask": "failed",
    }
    assert "1 passed, 2 failed" in ended.stdout
    assert "pool node-1 has 1 of 2 slices" in page
    assert f"none of 2 pods got a device of driver {incomplete}" in page
    assert "FailedScheduling" in page
    assert "FailedScheduling" in (tmp_path / "junit.xml").read_text()
    assert "this cannot be told" not in page


@pytest.mark.slow
def test_a_driver_that_updates_its_pool_is_given_the_time_to(
    cluster: Cluster, api: Api, updating: tuple[str, str], tmp_path: Path
) -> None:
    """Until it has removed slices of an older generation, those do not count, as for schedulers."""
    driver, older = updating
    with ThreadPoolExecutor() as pool:
        judged = pool.submit(_judge, cluster, driver, tmp_path, "-k", "every_pool or in_their_pool", status=0)
        # Each story makes one of these, and the first of them looks at generations.
        api.wait_all(DEVICE_CLASSES, lambda seen: any(".any-device" in item["metadata"]["name"] for item in seen))
        api.delete(RESOURCE_SLICES, older)
        records, _, _ = judged.result()
    assert [(record.title, record.outcome) for record in records] == [
        ("every pool is complete and of one generation", "passed"),
        ("device names are unique in their pool", "passed"),
    ]


@pytest.mark.slow
@pytest.mark.long
def test_a_driver_that_leaves_older_slices_is_shown(
    cluster: Cluster, updating: tuple[str, str], tmp_path: Path
) -> None:
    driver, _ = updating
    _, page, _ = _judge(cluster, driver, tmp_path, "-k", "every_pool or in_their_pool", status=1)
    assert "pool node-1: generations and slice counts [(1, 1), (2, 1)]" in html.unescape(page)
    assert "pool node-1 has" not in page


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("signals_heard")
def test_an_interrupted_judgement_leaves_nothing_although_the_driver_hangs(
    cluster: Cluster, api: Api, driver: Callable[..., Driver], tmp_path: Path
) -> None:
    """That is the usual reason to interrupt it."""
    judged = driver("a100-40gb", nodes=["node-1"])
    before = _names(api)
    command = [sys.executable, "-m", "drakit_kind", "conformance", "--kubeconfig", str(cluster.kubeconfig)]
    command += ["--driver", judged.name, "--output", str(tmp_path), "--", "-k", "used_again_and_again"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as judging:
        api.wait_all(PODS, bool, namespace=ALL_NAMESPACES, what="there")
        judged.pause()
        api.wait_all(PODS, lambda pods: any(_waits_for_its_kubelet(pod) for pod in pods), namespace=ALL_NAMESPACES)
        judging.send_signal(signal.SIGINT)
        assert judging.wait(50) == 130
    api.wait_all(NAMESPACES, lambda there: {item["metadata"]["name"] for item in there} <= before)
    assert _names(api) == before
    judged.kill()


@pytest.mark.slow
@_LONG
@pytest.mark.long
def test_when_the_driver_dies_the_run_says_so_and_ends(
    cluster: Cluster, api: Api, driver: Callable[..., Driver], tmp_path: Path
) -> None:
    judged = driver("a100-40gb", nodes=["node-1"])
    # A story fails when time is up here, which is sooner than by itself; those behind it would, too.
    stories = "gives_it_back or again_and_again or two_pods or finished or twice"
    options = ("-k", stories, "--timeout", "20", "-o", "timeout_func_only=true")
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(_judge, cluster, judged.name, tmp_path, *options, status=2, seconds=_SECONDS_WITHOUT_DRIVER)
        api.wait_all(PODS, lambda pods: any(map(_runs, pods)), namespace=ALL_NAMESPACES, timeout=_SECONDS)
        judged.kill()
        records, page, told = ended.result()
    outcomes = [record.outcome for record in records]
    assert outcomes.count("failed") == 1
    assert outcomes[-1] == "unrun"
    message = f"driver {judged.name} stopped answering: its devices are not "
    assert message in told.stdout
    assert message in html.unescape(page)
    assert message in html.unescape((tmp_path / "junit.xml").read_text())
    assert f"{outcomes.count('unrun')} not run" in told.stdout


@pytest.mark.slow
@_LONG
@pytest.mark.long
def test_when_its_slices_vanish_the_run_says_so_and_ends(cluster: Cluster, api: Api, tmp_path: Path) -> None:
    name = f"{api.namespace}.example.com"
    _publish(api, name, name)
    before = _classes(api.objects(DEVICE_CLASSES))
    stories = "again_and_again or two_pods_share or finished_pod"
    with ThreadPoolExecutor() as pool:
        options = ("-k", stories, "--timeout", "10", "-o", "timeout_func_only=true")
        ended = pool.submit(_judge, cluster, name, tmp_path, *options, status=2, seconds=_SECONDS_WITHOUT_DRIVER)
        api.wait_all(DEVICE_CLASSES, lambda seen: not _classes(seen) <= before, timeout=_SECONDS)
        api.delete(RESOURCE_SLICES, name)
        records, page, _ = ended.result()
    assert [record.outcome for record in records] == ["failed", "unrun", "unrun"]
    assert f"driver {name} stopped answering: it publishes no ResourceSlice any more" in html.unescape(page)


def _classes(seen: list[dict[str, Any]]) -> set[str]:
    """Names of classes; a story makes one of its own."""
    return {item["metadata"]["name"] for item in seen}


def _runs(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _waits_for_its_kubelet(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") == "Pending"


@pytest.mark.parametrize(
    ("slices", "complete"),
    [([(1, 1)], True), ([(1, 2)], False), ([(1, 2), (1, 2)], True), ([(1, 1), (2, 2)], False),
     ([(1, 2), (1, 2), (2, 1)], True), ([(1, 1), (1, 1)], False), ([(1, 1), (1, 2)], False)],
)  # fmt: skip
def test_a_pool_is_complete_with_all_slices_of_its_newest_generation(
    slices: list[tuple[int, int]], complete: bool
) -> None:
    made = [{"spec": {"pool": {"generation": each, "resourceSliceCount": count}}} for each, count in slices]
    assert is_complete(made) is complete


def test_admin_access_takes_a_device_from_nobody() -> None:
    def claim(name: str, **result: object) -> dict[str, Any]:
        results = [{"driver": "a", "pool": "p", "device": "d", **result}]
        return {
            "metadata": {"namespace": "default", "name": name},
            "status": {"allocation": {"devices": {"results": results}}},
        }

    api = Mock(spec=Api)
    api.objects.return_value = [claim("user"), claim("admin", adminAccess=True), claim("other", driver="b")]
    assert Subject("a", "any", api).held() == {("p", "d"): ["default/user"]}


def test_pods_go_to_nodes_that_are_kept_for_pods_with_devices() -> None:
    """Not to those that Kubernetes itself has tainted, as they are not ready, or cordoned."""

    def node(*taints: tuple[str, str]) -> dict[str, Any]:
        return {"spec": {"taints": [{"key": key, "effect": effect} for key, effect in taints]}}

    api = Mock(spec=Api)
    api.objects.return_value = [
        {"spec": {}},
        node(("nvidia.com/gpu", "NoSchedule"), ("example.com/team", "NoSchedule")),
        node(("nvidia.com/gpu", "NoSchedule"), ("node.kubernetes.io/unschedulable", "NoSchedule")),
        node(("example.com/old", "NoExecute"), ("node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")),
    ]
    made = Subject("a", "any", api).pod("user", "one", restartPolicy="Never")
    assert made["spec"]["tolerations"] == [
        {"key": "example.com/team", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]
    assert made["spec"]["restartPolicy"] == "Never"
