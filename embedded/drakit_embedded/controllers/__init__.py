"""What kube-controller-manager does, as far as Dynamic Resource Allocation and its tests need it.

Each module is one controller of k8s.io/kubernetes/pkg/controller. All read from shared ``informers`` and write through
one connection: events come in from the API server, changed objects go back to it, and nothing else is shared.

- ``resourceclaims`` with ``claim_templates``, ``device_taints``: Dynamic Resource Allocation;
- ``deployments`` with ``rollout``, ``replicasets``, ``daemonsets``: what makes pods; ``pods``, ``adoption`` and
  ``ownership`` say which are whose;
- ``services`` with ``service_endpoints``: what stands behind Services;
- ``storage_migrations``: objects are written anew, in the version that is stored now;
- ``policies``: the status of admission policies;
- ``garbage``, ``podgc``, ``namespaces``, ``resource_quotas``, ``cluster_roles``; ``kinds`` finds and follows the kinds
  that some of them are for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import REPLICATION_CONTROLLERS
from drakit_embedded.controllers import resourceclaims
from drakit_embedded.controllers.claim_templates import ClaimFeatures
from drakit_embedded.controllers.cluster_roles import ClusterRoleAggregation
from drakit_embedded.controllers.daemonsets import DaemonSetController
from drakit_embedded.controllers.deployments import DeploymentController
from drakit_embedded.controllers.device_taints import DeviceTaintEviction
from drakit_embedded.controllers.garbage.collector import GarbageCollector
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.following import Kinds
from drakit_embedded.controllers.namespaces.controller import NamespaceController
from drakit_embedded.controllers.podgc import PodGarbageCollector
from drakit_embedded.controllers.policies import PolicyStatusController
from drakit_embedded.controllers.replicasets import ReplicaSetController
from drakit_embedded.controllers.resource_quotas import ResourceQuotaController
from drakit_embedded.controllers.resourceclaims import ResourceClaimController
from drakit_embedded.controllers.services import ServiceController
from drakit_embedded.controllers.storage_migrations.controller import StorageMigrationController

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.2


class _Controller(Protocol):
    async def run(self) -> None: ...


async def run(
    connection: Connection,
    *,
    gates: FeatureGates | None = None,
    root_ca: str = "",
    ready: asyncio.Event | None = None,
    garbage_delay: float = 0.0,
) -> None:
    """Run all controllers until cancelled; ``ready`` is set once all but the garbage collector have filled caches.

    ``gates`` are those of the API server, ``root_ca`` (PEM) is what ``kube-root-ca.crt`` holds in each namespace. The
    garbage collector lists and watches every kind there is: it does so ``garbage_delay`` seconds after the others. From
    then on, kinds that come or go are followed.
    """
    informers = Informers(connection)
    features = ClaimFeatures()
    if gates is not None:
        features = ClaimFeatures(gates.enabled("DRAAdminAccess"), gates.enabled("DRAPrioritizedList"))
    kinds = Kinds(informers)
    garbage = GarbageCollector(informers, kinds)
    migrations = StorageMigrationController(informers, kinds)
    # What it writes passes admission, where webhooks and policies look at who it is.
    of_claims = connection.acting_as(resourceclaims.USER)
    controllers: list[_Controller] = [
        ResourceClaimController(informers, features, of_claims),
        ReplicaSetController(informers),
        ReplicaSetController(informers, REPLICATION_CONTROLLERS),
        DeploymentController(informers),
        DaemonSetController(informers),
        ServiceController(informers),
        NamespaceController(informers, kinds, root_ca=root_ca),
        PodGarbageCollector(informers),
        ClusterRoleAggregation(informers),
        PolicyStatusController(informers),
        ResourceQuotaController(informers, kinds, extended=gates is None or gates.enabled("DRAExtendedResource")),
    ]
    if gates is None or gates.enabled("DRADeviceTaints"):
        rules = gates is None or gates.enabled("DRADeviceTaintRules")
        controllers.append(DeviceTaintEviction(informers, rules=rules))
    async with of_claims, asyncio.TaskGroup() as tasks:
        tasks.create_task(informers.run())
        await informers.synced()
        for controller in controllers:
            tasks.create_task(controller.run())
        if ready is not None:
            ready.set()
        await asyncio.sleep(garbage_delay)
        await _until_it_answers(kinds.start)
        await informers.synced()
        tasks.create_task(kinds.run())
        tasks.create_task(garbage.run())
        tasks.create_task(migrations.run())


async def _until_it_answers(action: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            return await action()
        except REQUEST_FAILURES as error:
            log.info("waiting for the API server: %s", error or type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)
