"""``drakit conformance --driver`` judges drivers that it has never seen: a sound one passes, a faulty one is shown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_client.resources import DEVICE_CLASSES, NAMESPACES, RESOURCE_SLICES
from drakit_kind.api import Api
from drakit_kind.cluster import Cluster, Driver
from drakit_kind.conformance.records import Record, read

_STORIES = 10


def _judge(
    cluster: Cluster, driver: str, directory: Path, *options: str, status: int
) -> tuple[list[Record], str, subprocess.CompletedProcess[str]]:
    """Records, page and output."""
    command = [sys.executable, "-m", "drakit_kind", "conformance", "--kubeconfig", str(cluster.kubeconfig)]
    command += ["--driver", driver, "--output", str(directory), "--", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return read(directory / "run-1" / "records.jsonl"), (directory / "index.html").read_text(), ended


@pytest.fixture
def incomplete(api: Api) -> Iterator[str]:
    """The name of a driver that has published one of two slices and prepares nothing."""
    name = f"{api.namespace}.example.com"
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": name, "nodeName": "node-1", "pool": pool, "devices": [{"name": "device-0"}]}
    metadata = {"name": f"{api.namespace}-first-of-two"}
    api.create(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec},
    )
    yield name
    api.delete(RESOURCE_SLICES, metadata["name"])


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
    """What a judgement might leave: namespaces and classes."""
    return {obj["metadata"]["name"] for resource in (NAMESPACES, DEVICE_CLASSES) for obj in api.objects(resource)}


def test_a_faulty_driver_fails_and_the_page_says_what_is_wrong_with_it(
    cluster: Cluster, incomplete: str, tmp_path: Path
) -> None:
    # The others wait minutes for pods of a slow driver.
    stories = "every_pool_is_complete or unique_in_their_pool or until_nothing_fits"
    records, page, ended = _judge(cluster, incomplete, tmp_path, "-k", stories, status=1)
    assert {record.title: record.outcome for record in records} == {
        "every pool is complete and of one generation": "failed",
        "device names are unique in their pool": "passed",
        "devices are given out once until nothing fits": "failed",
    }
    assert "1 passed, 2 failed" in ended.stdout
    assert "pool node-1 has 1 of 2 slices" in page
    assert f"none of 2 pods got a device of driver {incomplete}" in page
    assert "FailedScheduling" in page
    assert "this cannot be told" not in page
