"""Takes each StorageVersionMigration from one step to the next, a single one of a resource at a time."""

from __future__ import annotations

import logging
import time

from drakit_api.core import conditions
from drakit_api.golang import gotime
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.reflector import Reflector
from drakit_client.resources import STORAGE_VERSION_MIGRATIONS, Resource
from drakit_client.work_queue import NotYet, WorkQueue
from drakit_embedded.controllers.informers import Informers
from drakit_embedded.controllers.kinds.discovery import Discovered
from drakit_embedded.controllers.kinds.following import Kinds
from drakit_embedded.controllers.storage_migrations import definitions, rewriting
from drakit_embedded.controllers.storage_migrations.rewriting import Outcome

# A group and a plural.
_Key = tuple[str, str]
_VERBS = ("update", "patch", "list")
# How long a migration waits for a resource that is not served.
_PATIENCE_SECONDS = 60.0
_RUNNING, _SUCCEEDED, _FAILED = "Running", "Succeeded", "Failed"


class StorageMigrationController:
    """Runs the migrations of each resource, the oldest first."""

    def __init__(self, informers: Informers, kinds: Kinds) -> None:
        self._informers, self._connection = informers, informers.connection
        self._found = Discovered()
        self._migrations: Reflector | None = None
        self._queue: WorkQueue[_Key] = WorkQueue(self._sync, name="storage version migration")
        kinds.on_change(self._follow)

    async def run(self) -> None:
        """Reconcile until cancelled."""
        await self._queue.run()

    def _follow(self, found: Discovered) -> None:
        self._found = found
        key = STORAGE_VERSION_MIGRATIONS.group, STORAGE_VERSION_MIGRATIONS.plural
        if self._migrations is None and key in found.kinds:
            self._migrations = self._informers.reflector(STORAGE_VERSION_MIGRATIONS)
            self._migrations.on_change(self._changed)
        for migration in self._migrations.store.values() if self._migrations is not None else ():
            self._changed(None, migration)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        changed = new if new is not None else old
        assert changed is not None
        self._queue.add(_key(changed))

    async def _sync(self, key: _Key) -> None:
        assert self._migrations is not None
        own = [migration for migration in self._migrations.store.values() if _key(migration) == key]
        for migration in own:
            if _is_running(migration) and _is_over(migration):
                await self._end(migration)
        open_ones = sorted((each for each in own if not _is_over(each)), key=_age)
        running = next((each for each in open_ones if _is_running(each)), None)
        if running is not None:
            await self._advance(running)
        elif open_ones:
            await self._begin(open_ones[0])

    async def _begin(self, migration: Object) -> None:
        await definitions.tell_begin(self._connection, _definition(migration), migration["metadata"]["name"])
        await self._say(migration, _running_condition())

    async def _end(self, migration: Object) -> None:
        succeeded = conditions.is_true(migration, _SUCCEEDED)
        await definitions.tell_end(self._connection, _definition(migration), succeeded=succeeded)
        ended = _condition(_RUNNING, "MigrationCompleted", "Migration completed", status="False")
        if generation := migration["metadata"].get("generation"):
            ended["observedGeneration"] = generation
        await self._say(migration, ended)

    async def _advance(self, migration: Object) -> None:
        version = migration["status"].get("resourceVersion")
        served = self._found.kinds.get(_key(migration))
        if served is None:
            await self._wait_or_fail(migration, known=bool(version))
        elif version:
            await self._rewrite(migration, served.resource, version)
        elif not served.verbs.issuperset(_VERBS):
            text = f"resource {quote(_text(served.resource))} does not support discovery operations: "
            await self._fail(migration, f"{text}[{' '.join(_VERBS)}]")
        else:
            latest = await rewriting.latest_version(self._connection, served.resource)
            await self._write(migration, {**migration["status"], "resourceVersion": latest})

    async def _wait_or_fail(self, migration: Object, *, known: bool) -> None:
        """Give a resource time to be served."""
        age = time.time() - gotime.seconds(migration["metadata"]["creationTimestamp"])
        if age < _PATIENCE_SECONDS:
            raise NotYet("its resource is not served", level=logging.DEBUG)
        unhandled = "migration encountered unhandled error: unable to obtain GVR from discovery"
        await self._fail(migration, unhandled if known else "resource does not exist in discovery")

    async def _rewrite(self, migration: Object, resource: Resource, version: str) -> None:
        outcome = await rewriting.rewrite(self._connection, resource, version)
        if outcome.error is None:
            succeeded = _condition(_SUCCEEDED, "StorageVersionMigrationSucceeded", "Migration completed")
            await self._say(migration, _running_condition(outcome), succeeded)
        elif outcome.can_go_on:
            await self._tell_progress(migration, outcome)
            raise outcome.error
        else:
            text = f"{outcome.left}/{outcome.total} not yet migrated. migration encountered unhandled error: "
            failed = _condition(_FAILED, "StorageVersionMigrationFailed", f"{text}{outcome.error.message}")
            await self._say(migration, _running_condition(Outcome(outcome.left, outcome.total)), failed)

    async def _tell_progress(self, migration: Object, outcome: Outcome) -> None:
        try:
            await self._say(migration, _running_condition(outcome))
        except REQUEST_FAILURES:
            return  # It is told why the migration does not go on, not why that could not be told.

    async def _fail(self, migration: Object, message: str) -> None:
        await self._say(migration, _condition(_FAILED, "StorageVersionMigrationFailed", message))

    async def _say(self, migration: Object, *new: Object) -> None:
        status = migration.get("status") or {}
        said = status.get("conditions") or []
        for condition in new:
            said = conditions.updated(said, condition)
        if said != status.get("conditions"):
            await self._write(migration, {**status, "conditions": said})

    async def _write(self, migration: Object, status: Object) -> None:
        await self._connection.replace_status(STORAGE_VERSION_MIGRATIONS, {**migration, "status": status})


def _key(migration: Object) -> _Key:
    given = migration["spec"]["resource"]
    return given.get("group") or "", given["resource"]


def _definition(migration: Object) -> str:
    group, plural = _key(migration)
    return f"{plural}.{group}"


def _age(migration: Object) -> tuple[str, str]:
    return migration["metadata"]["creationTimestamp"], migration["metadata"]["name"]


def _is_running(migration: Object) -> bool:
    return conditions.is_true(migration, _RUNNING)


def _is_over(migration: Object) -> bool:
    return conditions.is_true(migration, _SUCCEEDED) or conditions.is_true(migration, _FAILED)


def _text(resource: Resource) -> str:
    return f"{resource.group}/{resource.version}, Resource={resource.plural}"


def _condition(kind: str, reason: str, message: str, *, status: str = "True") -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _running_condition(outcome: Outcome | None = None) -> Object:
    return _condition(_RUNNING, "MigrationRunning", f"The migration is running{_progress(outcome)}")


def _progress(outcome: Outcome | None) -> str:
    """Say how far a migration has come (migrationRunningMessage)."""
    if outcome is None:
        return ""
    text = ""
    if outcome.total and outcome.left:
        text = f", {outcome.left}/{outcome.total} objects not yet migrated"
    elif outcome.total:
        text = f", {outcome.total} objects verified migrated"
    return text if outcome.error is None else f"{text}; transient error: {outcome.error.message}"
