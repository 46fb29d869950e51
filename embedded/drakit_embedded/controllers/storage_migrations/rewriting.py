"""Writes the objects of one resource anew, each unchanged (runMigration in storageversionmigrator.go)."""

from __future__ import annotations

from dataclasses import dataclass

from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, NotFound
from drakit_client.resources import Resource

_MANAGER = "storage-version-migrator-controller"
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# No namespace has this name: what is listed of it is empty, and says how far the resource has come.
_NOWHERE = "@fake:svm_ns!"
_RETRIABLE = frozenset({"ServerTimeout", "TooManyRequests", "ServiceUnavailable", "InternalError", "Timeout"})


@dataclass(slots=True)
class Outcome:
    """How many of the objects are not written yet, and what has ended the work before all were."""

    left: int
    total: int
    error: ApiError | None = None

    @property
    def can_go_on(self) -> bool:
        """Whether what has gone wrong may be better soon (isRetriableError)."""
        return self.error is not None and self.error.reason in _RETRIABLE


async def latest_version(connection: Connection, resource: Resource) -> str:
    """Return the resourceVersion of a resource now."""
    path = resource.path(_NOWHERE)
    listed = await connection.json("GET", path, params={"limit": "1"}, accept=_METADATA)
    version: str = listed["metadata"]["resourceVersion"]
    return version


async def rewrite(connection: Connection, resource: Resource, version: str) -> Outcome:
    """Write those objects that have not been written since a resourceVersion."""
    listed = (await connection.json("GET", resource.path(), accept=_METADATA)).get("items") or []
    due = [item["metadata"] for item in listed if int(item["metadata"]["resourceVersion"]) <= int(version)]
    outcome = Outcome(len(due), len(listed))
    for metadata in due:
        patch = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
        }
        namespace, options = metadata.get("namespace"), {"fieldManager": _MANAGER}
        try:
            await connection.patch(resource, metadata["name"], patch, namespace, params=options)
        except (Conflict, NotFound):
            pass  # Others have written or deleted it.
        except ApiError as error:
            outcome.error = error
            return outcome
        outcome.left -= 1
    return outcome
