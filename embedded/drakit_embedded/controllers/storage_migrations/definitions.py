"""What a CustomResourceDefinition is told of the migration of its objects (migrationrunner.go).

Each is applied to the definition as it was read: a version that another write made meanwhile is a conflict, and the
migration's key is worked on again.
"""

from __future__ import annotations

from drakit_api.core import conditions
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import CUSTOM_RESOURCE_DEFINITIONS

_MANAGER = "migration-runner-controller"
_MIGRATING = "StorageMigrating"


async def tell_begin(connection: Connection, name: str, migration: str) -> None:
    """Say that a migration is running, if there is such a definition."""
    crd = await _read(connection, name)
    if crd is not None:
        await _apply(connection, crd, "True", "MigrationRunning", f"Migration {migration} is running")


async def tell_end(connection: Connection, name: str, *, succeeded: bool) -> None:
    """Say how the migration has ended; only the present storage version is left if the definition is as it was."""
    crd = await _read(connection, name)
    if crd is None:
        return
    migrating = conditions.condition_of(crd, _MIGRATING)
    unchanged = bool(migrating) and (migrating.get("observedGeneration") or 0) == _generation(crd)
    if not succeeded:
        reason, message = "MigrationFailed", "The migration has failed"
    else:
        reason, message = "MigrationSucceeded", "The migration has succeeded"
        message += (
            " and the stored versions have been updated"
            if unchanged
            else " but the stored versions have not been updated due to a generation mismatch"
        )
    stored = [version["name"] for version in crd["spec"]["versions"] if version.get("storage")]
    more = {"storedVersions": stored[:1]} if unchanged else {}
    await _apply(connection, crd, "False", reason, message, **more)


async def _read(connection: Connection, name: str) -> Object | None:
    try:
        return await connection.get(CUSTOM_RESOURCE_DEFINITIONS, name)
    except NotFound:
        return None


def _generation(crd: Object) -> int:
    generation: int = crd["metadata"].get("generation") or 0
    return generation


async def _apply(
    connection: Connection, crd: Object, status: str, reason: str, message: str, **more: list[str]
) -> None:
    name = crd["metadata"]["name"]
    condition = {
        "type": _MIGRATING,
        "status": status,
        "lastTransitionTime": gotime.now(),
        "reason": reason,
        "message": message,
        "observedGeneration": _generation(crd),
    }
    wanted = {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": name, "resourceVersion": crd["metadata"]["resourceVersion"]},
        "status": {"conditions": [condition], **more},
    }
    options = {"fieldManager": _MANAGER, "force": "true"}
    await connection.patch(
        CUSTOM_RESOURCE_DEFINITIONS, name, wanted, patch_type="apply", subresource="status", params=options
    )
