"""The driver that is judged: ours unless the run names somebody else's, and what any driver's claims look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.cluster import Driver
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import ALL_NAMESPACES, Api
from e2e.ledger import results

# (pool, device)
DeviceId = tuple[str, str]
# Taints of nodes that are in no condition to run pods (k8s.io/api/core/v1, k8s.io/cloud-provider/api).
_CONDITIONS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def by_pool(slices: Iterable[Object]) -> dict[str, list[Object]]:
    """Slices of one driver by the names of their pools."""
    pools: dict[str, list[Object]] = {}
    for item in slices:
        pools.setdefault(item["spec"]["pool"]["name"], []).append(item)
    return pools


def newest(slices: Sequence[Object]) -> list[Object]:
    """Those of a pool that count: while a driver updates it, there may be others of an older generation (KEP-4381)."""
    generation = max(item["spec"]["pool"]["generation"] for item in slices)
    return [item for item in slices if item["spec"]["pool"]["generation"] == generation]


def is_complete(slices: Sequence[Object]) -> bool:
    """Whether a pool has as many slices of its newest generation as these say."""
    now = newest(slices)
    return {item["spec"]["pool"]["resourceSliceCount"] for item in now} == {len(now)}


def device_names(slices: Iterable[Object]) -> list[str]:
    """Names of the devices of some slices."""
    return [device["name"] for item in slices for device in item["spec"].get("devices") or []]


@dataclass(frozen=True)
class Subject:
    """A DRA driver by its name, with a device class of the test's own that selects all its devices.

    ``driver`` is there if the test can kill and start it, which it cannot with somebody else's.
    """

    name: str
    device_class: str
    api: Api
    driver: Driver | None = None

    def claim(self, name: str, *, count: int = 1) -> Object:
        """A claim for any devices of this driver."""
        return manifests.claim(name, manifests.request("any", self.device_class, count=count))

    def template(self, name: str) -> Object:
        """A template of such claims."""
        return manifests.claim_template(name, manifests.request("any", self.device_class))

    def pod(self, name: str, claim: str | None = None, *, template: str | None = None, **fields: Any) -> Object:
        """A pod that goes wherever the driver has devices, as nodes with GPUs are often kept for pods that say so.

        Nodes that are not ready, or cordoned, are tainted too, by Kubernetes itself: there it does not go.
        """
        keys = {
            taint["key"]
            for node in self.api.objects(NODES)
            for taint in node["spec"].get("taints") or []
            if taint["effect"] == "NoSchedule" and not taint["key"].startswith(_CONDITIONS)
        }
        tolerations = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in sorted(keys)]
        return manifests.pod(name, claim, template=template, tolerations=tolerations, **fields)

    @property
    def own(self) -> str:
        """The field selector of its slices."""
        return f"spec.driver={self.name}"

    def slices(self) -> list[Object]:
        """All that it publishes now."""
        return self.api.objects(RESOURCE_SLICES, field_selector=self.own)

    def pools(self) -> Mapping[str, list[Object]]:
        """Its slices by pool: those that count."""
        return {name: newest(slices) for name, slices in by_pool(self.slices()).items()}

    def devices(self) -> dict[DeviceId, Object]:
        """All its devices."""
        return {
            (pool, device["name"]): device
            for pool, slices in self.pools().items()
            for item in slices
            for device in item["spec"].get("devices") or []
        }

    def held(self) -> dict[DeviceId, list[str]]:
        """Its allocated devices with the claims, ``namespace/name``, of the whole cluster that have them.

        Who has admin access to a device takes it from nobody (KEP-5018).
        """
        holders: dict[DeviceId, list[str]] = {}
        for claim in self.api.objects(RESOURCE_CLAIMS, ALL_NAMESPACES):
            for result in results(claim):
                if result["driver"] == self.name and not result.get("adminAccess"):
                    metadata = claim["metadata"]
                    device = (result["pool"], result["device"])
                    holders.setdefault(device, []).append(f"{metadata['namespace']}/{metadata['name']}")
        return holders
