"""The templates that a daemon set has had, one ControllerRevision each: what ``kubectl rollout undo`` goes back to.

Follows constructHistory, snapshot and cleanupHistory in update.go of k8s.io/kubernetes/pkg/controller/daemon.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.reflector import key_of
from drakit_client.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from drakit_client.work_queue import NotYet
from drakit_embedded.controllers import rollout
from drakit_embedded.controllers.daemonsets.node_fit import HASH_LABEL
from drakit_embedded.controllers.informers import Created, Informers
from drakit_embedded.controllers.ownership import controller_uid, reference_to


class Revisions(NamedTuple):
    """The revision of the current template, and the older ones."""

    current: Object
    old: list[Object]

    @property
    def hash(self) -> str:
        """The label value of pods of the current template."""
        labels: dict[str, str] = self.current["metadata"].get("labels") or {}
        return labels.get(HASH_LABEL) or str(self.current["metadata"]["name"])


class History:
    """Reads and writes the ControllerRevisions of daemon sets."""

    def __init__(self, informers: Informers) -> None:
        self._connection = informers.connection
        self._by_owner = informers.index(CONTROLLER_REVISIONS, controller_uid)
        self._created = Created(informers.reflector(CONTROLLER_REVISIONS))

    async def of(self, daemon_set: Object) -> Revisions:
        """Find the revisions of a daemon set; the one of its template is created, or made the newest, where needed."""
        uid = daemon_set["metadata"]["uid"]
        pending = [each for each in self._created.pending() if uid in controller_uid(each)]
        known = {key_of(each): each for each in [*self._by_owner.get(uid), *pending]}
        data = _data(daemon_set)
        current = [each for each in known.values() if _same(each, data)]
        old = [each for each in known.values() if not _same(each, data)]
        number = max((each.get("revision", 0) for each in old), default=0) + 1
        if not current:
            return Revisions(await self._snapshot(daemon_set, data, number), old)
        newest = max(current, key=lambda each: each.get("revision", 0))
        if newest.get("revision", 0) < number:
            newest = await self._connection.replace(
                CONTROLLER_REVISIONS, {**newest, "revision": number}, newest["metadata"]["namespace"]
            )
        return Revisions(newest, old)

    async def clean_up(self, daemon_set: Object, old: list[Object], in_use: Collection[str]) -> None:
        """Delete the oldest beyond ``revisionHistoryLimit``, but none of which there are pods (``in_use``: hashes)."""
        excess = len(old) - daemon_set["spec"].get("revisionHistoryLimit", 10)
        for each in sorted(old, key=lambda each: each.get("revision", 0)):
            if excess <= 0:
                return
            if (each["metadata"].get("labels") or {}).get(HASH_LABEL) in in_use:
                continue
            excess -= 1
            try:
                await self._connection.delete(
                    CONTROLLER_REVISIONS, each["metadata"]["name"], each["metadata"]["namespace"]
                )
            except NotFound:
                continue

    async def _snapshot(self, daemon_set: Object, data: Object, number: int) -> Object:
        metadata, template = daemon_set["metadata"], daemon_set["spec"]["template"]
        collisions = (daemon_set.get("status") or {}).get("collisionCount", 0)
        digest = rollout.template_hash({**template, "collisionCount": collisions} if collisions else template)
        name, namespace = f"{metadata['name']}-{digest}", metadata["namespace"]
        body: Object = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: digest},
                "annotations": metadata.get("annotations") or {},
                "ownerReferences": [reference_to(DAEMON_SETS, daemon_set)],
            },
            "data": data,
            "revision": number,
        }
        try:
            created = await self._connection.create(CONTROLLER_REVISIONS, body, namespace)
        except AlreadyExists as error:
            existing = await self._connection.get(CONTROLLER_REVISIONS, name, namespace)
            if _same(existing, data):
                return existing
            await self._count_collision(daemon_set, collisions)
            raise NotYet(f"revision {name} is that of another template") from error
        self._created.add(created)
        return created

    async def _count_collision(self, daemon_set: Object, collisions: int) -> None:
        status = {**(daemon_set.get("status") or {}), "collisionCount": collisions + 1}
        await self._connection.replace_status(
            DAEMON_SETS, {**daemon_set, "status": status}, daemon_set["metadata"]["namespace"]
        )


def _data(daemon_set: Object) -> Object:
    """Build a strategic merge patch that restores the template (getPatch)."""
    return {"spec": {"template": {**daemon_set["spec"]["template"], "$patch": "replace"}}}


def _same(revision: Object, data: Object) -> bool:
    kept = (revision.get("data") or {}).get("spec", {}).get("template") or {}
    return rollout.without_hash(kept) == rollout.without_hash(data["spec"]["template"])
