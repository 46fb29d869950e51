"""How long a user waits: from creating a claim and its pod until the container runs, with nothing else going on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest

from drakit_client.resources import PODS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.manifests import pod
from e2e.hardware import StartGpus

pytestmark = pytest.mark.capability(
    "latency: from claim to running pod",
    source="drakit",
)

ROUNDS = 5


def test_claim_to_running(api: Api, gpus: StartGpus, figure: Callable[[str, str], None], node: str) -> None:
    gpu = gpus(nodes=[node])
    seconds = []
    for round_ in range(ROUNDS):
        name = f"quick-{round_}"
        began = time.monotonic()
        api.create(gpu.partitions(name, "2g.10gb"), pod(name, name))
        api.wait_running(name)
        seconds.append(time.monotonic() - began)
        api.delete(PODS, name)
        api.wait_gone(PODS, [name])
    figure(
        "claim to running, the suite on both cores",
        f"median {statistics.median(seconds):.3f} s, most {max(seconds):.3f} s",
    )
