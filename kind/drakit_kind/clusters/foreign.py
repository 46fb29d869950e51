"""A cluster that is not ours, behind the interface of clusters: its API can be used, its components are let alone."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from drakit_api.core.conditions import is_ready
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, Driver, DriverSpec
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.flags import Change
from drakit_kind.clusters.lifecycle import Cluster

_PATIENCE = 4.0


class ForeignCluster(Cluster):
    """The cluster that a kubeconfig's current context names.

    Its ``spec`` has the nodes that take pods now; versions, gates and the rest in it are defaults, not the cluster's.
    """

    def __init__(self, kubeconfig: Path) -> None:
        with Api(kubeconfig) as api:
            nodes = [node["metadata"]["name"] for node in api.objects(NODES) if _takes_pods(node)]
        super().__init__(ClusterSpec(name=kubeconfig.name, nodes=nodes, waits_times=_PATIENCE), kubeconfig)

    def _start(self) -> None:
        """Do nothing: the cluster runs already."""

    def stop(self) -> None:
        """Do nothing: it is somebody else's."""

    def _restart(self, component: Component, change: Change) -> None:
        self._refuse(f"restart its {component}")

    def logs(self, component: Component | None = None) -> str:
        """Return "": its logs are wherever its owner keeps them."""
        return ""

    def driver(self, spec: DriverSpec) -> Driver:
        """Raise ``ClusterError``: its own driver is what is judged."""
        self._refuse("start drivers in it")

    def _refuse(self, what: str) -> NoReturn:
        raise ClusterError(f"the cluster of {self.kubeconfig} is not drakit's: it does not {what}")


def _takes_pods(node: Object) -> bool:
    taints = node["spec"].get("taints") or []
    blocked = node["spec"].get("unschedulable") or any(taint["effect"] != "PreferNoSchedule" for taint in taints)
    return is_ready(node) and not blocked
