"""Seconds from creating a claim and its pod until the container runs, on an idle cluster: one step of a user's test.

It is a chain of seven parts: API server, scheduler, allocation, binding, kubelet, the driver's prepare, pod status.
Each waits for a watch event of the one before, so anything that polls or batches shows here at once.
"""

from __future__ import annotations

import statistics
import time

from bench import clusters
from bench.report import Report, Step
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import ClusterSpec, DriverSpec
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import Api

TARGET = 0.5  # seconds
UPSTREAM = 0.7  # seconds from creating a pod; kube-scheduler 1.37.1, kubelet and containerd on two idle cores

_ROUNDS = 20
_TEMPLATE = "partition"


def run(step: Step, *, quick: bool = False) -> Report:
    """Twenty pods one after the other, each gone before the next, for both ways to refer to a claim."""
    rounds = 1 if quick else _ROUNDS
    driver = DriverSpec(profile="dgx-a100", nodes=["node-1"])
    report = Report(
        title=f"Claim to running, seconds ({rounds} pods one after the other)",
        columns=["pod refers to a", "median", "most", f"target {TARGET} s"],
        notes=[f"Kubernetes with a real kubelet and containerd: {UPSTREAM} s from creating a pod."],
    )
    step("start a cluster")
    with (
        report.kept(),
        clusters.running(ClusterSpec(nodes=["node-1"], drivers=[driver])) as cluster,
        Api(cluster.kubeconfig) as api,
    ):
        api.create(manifests.claim_template(_TEMPLATE, _partition()))
        for way in ("claim", "template"):
            seconds = []
            for number in range(rounds):
                step(f"{way}, pod {number + 1} of {rounds}")
                seconds.append(_round(api, way, f"{way}-{number}"))
            report.rows.append(_row(way, seconds))
    return report


def _row(way: str, seconds: list[float]) -> list[str]:
    median = statistics.median(seconds)
    return [way, f"{median:.3f}", f"{max(seconds):.3f}", "met" if median <= TARGET else "missed"]


def _partition() -> Object:
    return manifests.request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '2g.10gb'")


def _round(api: Api, way: str, name: str) -> float:
    objects = (
        [manifests.claim(name, _partition()), manifests.pod(name, name)]
        if way == "claim"
        else [manifests.pod(name, template=_TEMPLATE)]
    )
    began = time.monotonic()
    api.create(*objects)
    api.wait_running(name)
    seconds = time.monotonic() - began
    api.delete(PODS, name)
    api.wait_gone(PODS, [name])
    if way == "claim":
        api.delete(RESOURCE_CLAIMS, name)
    return seconds
