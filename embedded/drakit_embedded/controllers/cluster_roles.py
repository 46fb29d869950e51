"""ClusterRoles that collect the rules of others, as admin, edit and view do.

Follows k8s.io/kubernetes/pkg/controller/clusterroleaggregation.
"""

from __future__ import annotations

from drakit_api.core.label_selectors import selects
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import CLUSTER_ROLES
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.informers import Informers

_MANAGER = "clusterrole-aggregation-controller"


class ClusterRoleAggregation:
    """Keeps the rules of aggregated ClusterRoles equal to those of the roles that they select."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._roles = informers.reflector(CLUSTER_ROLES)
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="cluster role")
        self._roles.on_change(self._changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflector must be synced."""
        await self._queue.run()

    def _changed(self, old: Object | None, new: Object | None) -> None:
        """Queue all roles that aggregate, which are few: the changed one may be part of any of them."""
        for role in self._roles.store.values():
            if role.get("aggregationRule"):
                self._queue.add(role["metadata"]["name"])

    async def _sync(self, name: str) -> float | None:
        role = self._roles.get(name)
        if role is None or not role.get("aggregationRule"):
            return None
        rules = self._collected(role)
        if rules != (role.get("rules") or []):
            wanted = {"apiVersion": CLUSTER_ROLES.api_version, "kind": CLUSTER_ROLES.kind, "metadata": {"name": name}}
            options = {"fieldManager": _MANAGER, "force": "true"}
            await self._connection.patch(
                CLUSTER_ROLES, name, {**wanted, "rules": rules}, patch_type="apply", params=options
            )
        return None

    def _collected(self, role: Object) -> list[Object]:
        """Collect the rules of all selected roles, ordered by the role's name, each rule once."""
        rules: list[Object] = []
        others = sorted(self._roles.store.values(), key=lambda other: str(other["metadata"]["name"]))
        for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
            for other in others:
                if other["metadata"]["name"] == role["metadata"]["name"]:
                    continue
                if selects(selector, other["metadata"].get("labels")):
                    rules += [rule for rule in other.get("rules") or () if rule not in rules]
        return rules
