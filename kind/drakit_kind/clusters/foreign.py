"""A cluster that is not ours, behind the interface of clusters: its API can be used, its components are let alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from drakit_api.core.conditions import is_ready
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, Driver, DriverSpec
from drakit_kind.clusters.api import Api

_PATIENCE = 4.0


class ForeignCluster:
    """The cluster that a kubeconfig's current context names."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        with Api(kubeconfig) as api:
            nodes = [node["metadata"]["name"] for node in api.objects(NODES) if _takes_pods(node)]
        self._spec = ClusterSpec(name=kubeconfig.name, nodes=nodes, waits_times=_PATIENCE)

    @property
    def spec(self) -> ClusterSpec:
        """Its nodes that take pods; what else it is like, nobody has told us."""
        return self._spec

    @property
    def kubeconfig(self) -> Path:
        """The file that it was found in."""
        return self._kubeconfig

    def start(self) -> None:
        """Nothing: it runs."""

    def stop(self) -> None:
        """Nothing: it is somebody else's."""

    def restart(
        self,
        component: Component,
        *,
        version: str | None = None,
        gates: Mapping[str, bool] | None = None,
        emulated_version: str | None = None,
    ) -> None:
        """Refused."""
        self._refuse(f"restart its {component}")

    def logs(self, component: Component | None = None) -> str:
        """None: they are wherever its owner keeps them."""
        return ""

    def driver(self, spec: DriverSpec) -> Driver:
        """Refused: its own driver is what is judged."""
        self._refuse("start drivers in it")

    def _refuse(self, what: str) -> NoReturn:
        raise ClusterError(f"the cluster of {self._kubeconfig} is not drakit's: it does not {what}")


def _takes_pods(node: Object) -> bool:
    taints = node["spec"].get("taints") or []
    blocked = node["spec"].get("unschedulable") or any(taint["effect"] != "PreferNoSchedule" for taint in taints)
    return is_ready(node) and not blocked
