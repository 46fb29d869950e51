"""Writes the status of ValidatingAdmissionPolicies: that they were checked, and the warnings about their expressions.

Follows k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import VALIDATING_POLICIES
from drakit_client.work_queue import WorkQueue
from drakit_embedded.controllers.informers import Informers

if TYPE_CHECKING:
    from drakit_embedded.controllers.policies.type_checks import TypeChecker

_MANAGER = "validatingadmissionpolicy-status"


class PolicyStatusController:
    """Checks each generation of each policy once."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._policies = informers.reflector(VALIDATING_POLICIES)
        self._queue: WorkQueue[str] = WorkQueue(self._sync, name="validating admission policy")
        self._checker: TypeChecker | None = None
        self._policies.on_change(self._changed)

    async def run(self) -> None:
        """Reconcile until cancelled; the reflector must be synced."""
        await self._queue.run()

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._queue.add(new["metadata"]["name"])

    async def _sync(self, name: str) -> float | None:
        policy = self._policies.get(name)
        if policy is None:
            return None
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return None
        warnings = await self._type_checker().check(policy)
        checked = {"expressionWarnings": warnings} if warnings else {}
        wanted = {
            "apiVersion": VALIDATING_POLICIES.api_version,
            "kind": VALIDATING_POLICIES.kind,
            "metadata": {"name": name},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        }
        options = {"fieldManager": _MANAGER, "force": "true"}
        await self._connection.patch(
            VALIDATING_POLICIES, name, wanted, patch_type="apply", subresource="status", params=options
        )
        return None

    def _type_checker(self) -> TypeChecker:
        if self._checker is None:
            from drakit_embedded.controllers.policies.type_checks import TypeChecker

            self._checker = TypeChecker(self._connection)
        return self._checker
