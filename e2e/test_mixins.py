"""Seed 004's example layouts mean the same whether the server keeps their mixins or the driver flattens them.

With the kit's gate ``DRAResourceSliceMixins`` slices are published as written (``spec.mixins``, ``includes``) and the
scheduler applies them; without it the driver flattens and splits them for what Kubernetes 1.37 accepts. Only drakit's
own components know the gate, so one side is always an embedded cluster; the other is the cluster under test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drakit_api.core.conditions import is_unschedulable
from drakit_api.features import FeatureGates
from drakit_api.layouts import mixins
from drakit_api.layouts import pool_sizes as sizes
from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.cluster import ClusterSpec, DriverSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import claim, pod, request
from drakit_kind.processes.drivers import driver_name, pools_of
from e2e.hardware import TakeNodes

pytestmark = pytest.mark.capability(
    "partitionable devices: mixins",
    source="KEP-4815 (seed 004), KEP-5234",
    gates=["DRAPartitionableDevices"],
)

LAYOUTS = Path(__file__).parents[1] / "driver" / "examples" / "layouts"
GATE = "DRAResourceSliceMixins"

_MEMORY = "device.capacity['{driver}'].memory.compareTo(quantity('%s')) == 0"
_CHIPS = "device.capacity['{driver}'].tpus.compareTo(quantity('%s')) == 0"
_PROFILE = "device.attributes['{driver}'].type == 'mig' && device.attributes['{driver}'].profile == '%s'"
# So that what is left depends on no choice between the GPUs.
_ON_GPU_0 = _PROFILE + " && device.attributes['{driver}'].parentUUID == 'GPU-f27658d7-1427-4974-9dfe-45cc9ca77b34'"
# layout: the devices that one claim after the other asks for, each by a selector
CLAIMS: dict[str, list[list[str]]] = {
    "four-gpus": [["true"]] * 5,
    "four-partitions": [[_MEMORY % "10Gi"], [_MEMORY % "40Gi"], [_MEMORY % "10Gi"] * 2],
    "four-partitions-kep-5234": [[_MEMORY % "40Gi"], [_MEMORY % "10Gi"]],
    "dgx-a100-mig": [
        [_ON_GPU_0 % "1g.5gb", _ON_GPU_0 % "2g.10gb", _ON_GPU_0 % "3g.20gb"],
        ["device.attributes['{driver}'].type == 'gpu'"],
        [_PROFILE % "4g.20gb"],
        [_PROFILE % "1g.5gb"],
    ],
    "tpu-4x4": [[_CHIPS % "8"], [_CHIPS % "4"], [_CHIPS % "16"]],
}
WITHOUT_MIXINS = {"tpu-4x4"}
# The number of the host of each claim's pod: of hosts that are equally good a scheduler may take any.
HOSTS = {"tpu-4x4": [1, 3, 1]}


@dataclass
class Side:
    """One of the two clusters."""

    cluster: Cluster
    api: Api


@pytest.fixture(scope="module")
def native(cluster: Cluster, start_cluster: Callable[[ClusterSpec], Cluster]) -> Iterator[Side]:
    """A cluster that keeps mixins in its slices, with nodes of the same names."""
    keeps_mixins = start_cluster(ClusterSpec(name="native", nodes=cluster.spec.nodes, gates={GATE: True}))
    with Api(keeps_mixins.kubeconfig) as api:
        yield Side(keeps_mixins, api)


def _spec(layout: Path, nodes: Sequence[str], *, native: bool, name: str | None = None) -> DriverSpec:
    where = nodes[:4] if layout.name.startswith("tpu") else nodes[:1]
    return DriverSpec(profile="layout", layout=str(layout), nodes=where, name=name, gates={GATE: native})


def _file_for(layout: str, nodes: Sequence[str], directory: Path) -> Path:
    """The layout with this cluster's nodes in place of node-1 to node-4."""
    text = (LAYOUTS / f"{layout}.yaml").read_text()
    path = directory / f"{layout}.yaml"
    path.write_text(re.sub(r"(?<![\w-])node-(\d)\b", lambda found: nodes[int(found[1]) - 1], text))
    return path


def _decisions(side: Side, layout: str, driver: str) -> list[list[str] | None]:
    """The devices of each claim in turn, None for one that does not fit."""
    decisions: list[list[str] | None] = []
    for index, expressions in enumerate(CLAIMS[layout]):
        name = f"{layout}-{index}"
        requests = [
            request(f"r-{number}", driver, expression.format(driver=driver))
            for number, expression in enumerate(expressions)
        ]
        where: dict[str, Any] = {}
        if layout in HOSTS:
            host = side.cluster.spec.nodes[HOSTS[layout][index] - 1]
            where["nodeSelector"] = {"kubernetes.io/hostname": host}
        side.api.create(claim(name, *requests), pod(name, name, **where))
        # The first claim fits; a scheduler that has not seen the slices yet does not know, and tries again.
        decided = _bound if index == 0 else _decided
        side.api.wait(PODS, name, decided, what="bound or unschedulable")
        allocation = side.api.get(RESOURCE_CLAIMS, name).get("status", {}).get("allocation")
        decisions.append([result["device"] for result in allocation["devices"]["results"]] if allocation else None)
    return decisions


def _bound(seen: dict[str, Any]) -> bool:
    return bool(seen["spec"].get("nodeName"))


def _decided(seen: dict[str, Any]) -> bool:
    return _bound(seen) or is_unschedulable(seen)


def _devices(side: Side, driver: str) -> list[dict[str, Any]]:
    """All devices of the published slices with their mixins applied, in published order."""
    slices = side.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")
    slices.sort(key=lambda item: item["metadata"]["name"])
    return [device for item in slices for device in mixins.applied(mixins.pool_of(item["spec"])).devices]


@pytest.mark.long
@pytest.mark.parametrize("layout", CLAIMS)
def test_a_layout_means_the_same_with_mixins_and_flattened(
    cluster: Cluster,
    api: Api,
    native: Side,
    figure: Callable[[str, str], None],
    tmp_path: Path,
    nodes: TakeNodes,
    layout: str,
) -> None:
    nodes(4 if layout.startswith("tpu") else 1)
    file = _file_for(layout, cluster.spec.nodes, tmp_path)
    name = f"{api.namespace}.{driver_name(_spec(file, cluster.spec.nodes, native=False))}"
    devices, decisions, spread = {}, {}, False
    for which, side in {"native": native, "flattened": Side(cluster, api)}.items():
        driver = side.cluster.driver(_spec(file, side.cluster.spec.nodes, native=which == "native", name=name))
        driver.start()
        try:
            devices[which] = _devices(side, name)
            decisions[which] = _decisions(side, layout, name)
            published = side.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={name}")
            mixed = any("mixins" in item["spec"] for item in published)
            assert mixed == (which == "native" and layout not in WITHOUT_MIXINS)
            spread |= sum("devices" in item["spec"] for item in published) > 1
        finally:
            for index in range(len(CLAIMS[layout])):
                side.api.delete(PODS, f"{layout}-{index}")
                side.api.wait_gone(PODS, [f"{layout}-{index}"])
            driver.stop()
    assert devices["native"] == devices["flattened"]
    if spread:
        # Servers of 1.34 want devices beside their counters, and schedulers before 1.36 take slices in any order.
        for decided in decisions.values():
            decided.sort(key=str)
    assert decisions["native"] == decisions["flattened"]
    assert None in decisions["native"]  # the claims were chosen so that not all of them fit

    (pool,) = pools_of(_spec(file, cluster.spec.nodes, native=True))
    measured = sizes.pool_sizes(pool, FeatureGates())
    with_mixins = sum(measured.with_mixins or measured.flattened)
    figure(f"bytes in etcd of {layout}", f"{with_mixins} as written, {sum(measured.flattened)} flattened")
