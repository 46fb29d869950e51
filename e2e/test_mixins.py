"""Seed 004's example layouts mean the same whether the server keeps their mixins or the driver flattens them.

With the kit's gate ``DRAResourceSliceMixins`` slices are published as written (``spec.mixins``, ``includes``) and the
scheduler applies them; without it the driver flattens and splits them for what Kubernetes 1.37 accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from drakit_api import mixins, sizes
from drakit_api.features import FeatureGates
from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.api import Api
from drakit_kind.cluster import Cluster, ClusterSpec, DriverSpec
from drakit_kind.drivers import driver_name, pools_of
from drakit_kind.manifests import claim, pod, request

LAYOUTS = Path(__file__).parents[1] / "driver" / "examples" / "layouts"
GATE = "DRAResourceSliceMixins"

_MEMORY = "device.capacity['{driver}'].memory.compareTo(quantity('%s')) == 0"
_CHIPS = "device.capacity['{driver}'].tpus.compareTo(quantity('%s')) == 0"
_PROFILE = "device.attributes['{driver}'].type == 'mig' && device.attributes['{driver}'].profile == '%s'"
# layout: the devices that one claim after the other asks for, each by a selector
CLAIMS: dict[str, list[list[str]]] = {
    "four-gpus": [["true"]] * 5,
    "four-partitions": [[_MEMORY % "10Gi"], [_MEMORY % "40Gi"], [_MEMORY % "10Gi"] * 2],
    "four-partitions-kep-5234": [[_MEMORY % "40Gi"], [_MEMORY % "10Gi"]],
    "dgx-a100-mig": [
        [_PROFILE % "1g.5gb", _PROFILE % "2g.10gb", _PROFILE % "3g.20gb"],
        ["device.attributes['{driver}'].type == 'gpu'"],
        [_PROFILE % "4g.20gb"],
        [_PROFILE % "1g.5gb"],
    ],
    "tpu-4x4": [[_CHIPS % "8"], [_CHIPS % "4"], [_CHIPS % "16"]],
}
WITHOUT_MIXINS = {"tpu-4x4"}
# The host of each claim's pod: of hosts that are equally good a scheduler may take any.
HOSTS = {"tpu-4x4": ["node-1", "node-3", "node-1"]}


@dataclass
class Side:
    """One of the two clusters."""

    cluster: Cluster
    api: Api


@pytest.fixture(scope="module")
def sides(cluster_spec: ClusterSpec, start_cluster: Callable[[ClusterSpec], Cluster]) -> Iterator[dict[str, Side]]:
    """``native`` keeps mixins in its slices, ``flattened`` does not know them."""
    with ExitStack() as stack:
        found = {}
        for name, on in (("native", True), ("flattened", False)):
            cluster = start_cluster(replace(cluster_spec, name=name, gates={**cluster_spec.gates, GATE: on}))
            found[name] = Side(cluster, stack.enter_context(Api(cluster.kubeconfig)))
        yield found


def _spec(layout: str, *, native: bool) -> DriverSpec:
    nodes = [f"node-{number}" for number in range(1, 5)] if layout.startswith("tpu") else ["node-1"]
    return DriverSpec(profile="layout", layout=str(LAYOUTS / f"{layout}.yaml"), nodes=nodes, gates={GATE: native})


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
            where["nodeSelector"] = {"kubernetes.io/hostname": HOSTS[layout][index]}
        side.api.create(claim(name, *requests), pod(name, name, **where))
        side.api.wait(PODS, name, _decided, what="bound or unschedulable")
        allocation = side.api.get(RESOURCE_CLAIMS, name).get("status", {}).get("allocation")
        decisions.append([result["device"] for result in allocation["devices"]["results"]] if allocation else None)
    return decisions


def _decided(seen: dict[str, Any]) -> bool:
    conditions = seen.get("status", {}).get("conditions", [])
    return bool(seen["spec"].get("nodeName")) or any(each.get("reason") == "Unschedulable" for each in conditions)


def _devices(side: Side, driver: str) -> list[dict[str, Any]]:
    """All devices of the published slices with their mixins applied, in published order."""
    slices = side.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={driver}")
    slices.sort(key=lambda item: item["metadata"]["name"])
    return [device for item in slices for device in mixins.applied(mixins.pool_of(item["spec"])).devices]


@pytest.mark.xdist_group("mixins")  # two clusters of their own, once
@pytest.mark.parametrize("layout", CLAIMS)
def test_a_layout_means_the_same_with_mixins_and_flattened(
    sides: dict[str, Side], figure: Callable[[str, str], None], layout: str
) -> None:
    name = driver_name(_spec(layout, native=False))
    devices, decisions = {}, {}
    for which, side in sides.items():
        spec = _spec(layout, native=which == "native")
        driver = side.cluster.driver(spec)
        driver.start()
        try:
            devices[which] = _devices(side, name)
            decisions[which] = _decisions(side, layout, name)
            published = side.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={name}")
            mixed = any("mixins" in item["spec"] for item in published)
            assert mixed == (which == "native" and layout not in WITHOUT_MIXINS)
        finally:
            for index in range(len(CLAIMS[layout])):
                side.api.delete(PODS, f"{layout}-{index}")
                side.api.wait_gone(PODS, [f"{layout}-{index}"])
            driver.stop()
    assert devices["native"] == devices["flattened"]
    assert decisions["native"] == decisions["flattened"]
    assert None in decisions["native"]  # the claims were chosen so that not all of them fit

    (pool,) = pools_of(_spec(layout, native=True))
    measured = sizes.pool_sizes(pool, FeatureGates())
    native = sum(measured.with_mixins or measured.flattened)
    figure(f"bytes in etcd of {layout}", f"{native} as written, {sum(measured.flattened)} flattened")
