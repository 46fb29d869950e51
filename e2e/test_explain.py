"""drakit explain, on any cluster: what is in the way of a claim, and what would help; and it is true."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import pod
from e2e.hardware import StartGpus

pytestmark = pytest.mark.capability("explanations", source="KEP-4381, KEP-4815")


def _explain(cluster: Cluster, api: Api, *arguments: str) -> Any:
    command = [sys.executable, "-m", "drakit_kind", "explain", *arguments, "-o", "json"]
    command += ["-n", api.namespace, "--kubeconfig", str(cluster.kubeconfig)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def test_the_claim_whose_release_would_help_is_named(api: Api, cluster: Cluster, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("large", "4g.20gb"), pod("user", "large"))
    api.wait_running("user")
    api.create(gpu.whole("all"), pod("waiting", "all"))
    api.wait_event("waiting", "FailedScheduling")
    said = _explain(cluster, api, "pod", "waiting", "--node", node)
    assert said["best"] == [{"kind": "release", "claims": [f"{api.namespace}/large"]}]
    api.delete(PODS, "user", grace_period_seconds=0)
    api.delete(RESOURCE_CLAIMS, "large")
    api.wait_running("waiting")


def test_requests_that_do_not_go_together_are_named(api: Api, cluster: Cluster, gpus: StartGpus, node: str) -> None:
    gpu = gpus(nodes=[node])
    api.create(gpu.partitions("too-much", *["3g.20gb"] * 3, same_gpu=False), pod("waiting", "too-much"))
    api.wait_event("waiting", "FailedScheduling")
    said = _explain(cluster, api, "claim", "too-much", "--node", node)
    (conflict,) = said["nodes"][0]["conflicts"]
    assert [one["request"] for one in conflict["requests"]] == ["mig-0", "mig-1", "mig-2"]
    assert "remedies" not in said["nodes"][0]
