"""Stories of StorageVersionMigrations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drakit_api.core import conditions
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Invalid
from drakit_client.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    STORAGE_VERSION_MIGRATIONS,
    Resource,
)
from drakit_embedded.controllers.storage_migrations.controller import _running_condition
from drakit_embedded.controllers.storage_migrations.rewriting import Outcome

Until = Callable[..., Awaitable[Any]]
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
NAME = "widgets.example.com"


def migration(name: str, resource: str, group: str = "") -> Object:
    return {"metadata": {"name": name}, "spec": {"resource": {"group": group, "resource": resource}}}


def definition(stored: str) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == stored, "schema": schema} for name in ("v1beta1", "v1")
    ]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": NAME}, "spec": spec}


async def ended(connection: Connection, name: str) -> Object | None:
    """The migration, once it is over and no longer running."""
    found = await connection.get(STORAGE_VERSION_MIGRATIONS, name)
    is_over = conditions.is_true(found, "Succeeded") or conditions.is_true(found, "Failed")
    return found if is_over and not conditions.is_true(found, "Running") else None


def said(obj: Object) -> dict[str, tuple[str, str, str]]:
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in obj["status"]["conditions"]}


@pytest.mark.slow
async def test_custom_resources_are_stored_in_the_present_version(
    connection: Connection, controllers: None, until: Until
) -> None:
    await connection.create(CUSTOM_RESOURCE_DEFINITIONS, definition("v1beta1"))

    async def is_established() -> bool:
        return conditions.is_true(await connection.get(CUSTOM_RESOURCE_DEFINITIONS, NAME), "Established")

    await until(is_established)
    before = [await connection.create(WIDGETS, {"metadata": {"name": name}}, "default") for name in ("a", "b")]
    crd = await connection.get(CUSTOM_RESOURCE_DEFINITIONS, NAME)
    crd = await connection.replace(CUSTOM_RESOURCE_DEFINITIONS, {**crd, "spec": definition("v1")["spec"]})
    assert crd["status"]["storedVersions"] == ["v1beta1", "v1"]
    await connection.create(STORAGE_VERSION_MIGRATIONS, migration("m", "widgets", "example.com"))

    found = await until(lambda: ended(connection, "m"))
    assert said(found) == {
        "Running": ("False", "MigrationCompleted", "Migration completed"),
        "Succeeded": ("True", "StorageVersionMigrationSucceeded", "Migration completed"),
    }
    crd = await connection.get(CUSTOM_RESOURCE_DEFINITIONS, NAME)
    assert crd["status"]["storedVersions"] == ["v1"]
    assert said(crd)["StorageMigrating"] == (
        "False",
        "MigrationSucceeded",
        "The migration has succeeded and the stored versions have been updated",
    )
    after = (await connection.list(WIDGETS, "default"))["items"]
    versions = {obj["metadata"]["resourceVersion"] for obj in [*before, *after]}
    assert len(versions) == 4
    assert [new["metadata"]["generation"] for new in after] == [1, 1]


@pytest.mark.slow
async def test_objects_that_are_stored_in_it_already_are_left_as_they_are(
    connection: Connection, controllers: None, until: Until
) -> None:
    before = await connection.create(CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"a": "b"}}, "default")
    await connection.create(STORAGE_VERSION_MIGRATIONS, migration("m", "configmaps"))
    assert "Succeeded" in said(await until(lambda: ended(connection, "m")))
    assert await connection.get(CONFIG_MAPS, "c", "default") == before


@pytest.mark.slow
async def test_migrations_of_a_resource_follow_each_other(
    connection: Connection, controllers: None, until: Until
) -> None:
    """A resource that is not served may be one day, so the first migration waits, and the second for the first."""
    for name in ("first", "second"):
        await connection.create(STORAGE_VERSION_MIGRATIONS, migration(name, "widgets", "example.com"))

    async def runs(name: str) -> bool:
        return conditions.is_true(await connection.get(STORAGE_VERSION_MIGRATIONS, name), "Running")

    await until(lambda: runs("first"))
    assert not await runs("second")
    await connection.delete(STORAGE_VERSION_MIGRATIONS, "first")
    await until(lambda: runs("second"))
    await connection.create(CUSTOM_RESOURCE_DEFINITIONS, definition("v1"))
    assert "Succeeded" in said(await until(lambda: ended(connection, "second")))


@pytest.mark.slow
async def test_what_cannot_be_written_is_not_migrated(connection: Connection, controllers: None, until: Until) -> None:
    await connection.create(STORAGE_VERSION_MIGRATIONS, migration("m", "componentstatuses"))
    assert said(await until(lambda: ended(connection, "m")))["Failed"] == (
        "True",
        "StorageVersionMigrationFailed",
        'resource "/v1, Resource=componentstatuses" does not support discovery operations: [update patch list]',
    )


@pytest.mark.parametrize(
    ("outcome", "progress"),
    [
        (None, ""),
        (Outcome(0, 0), ""),
        (Outcome(2, 5), ", 2/5 objects not yet migrated"),
        (Outcome(0, 5), ", 5 objects verified migrated"),
        (
            Outcome(1, 5, ApiError(503, {"message": "later"})),
            ", 1/5 objects not yet migrated; transient error: later",
        ),
    ],
)
def test_how_far_a_migration_has_come_is_told(outcome: Outcome | None, progress: str) -> None:
    assert _running_condition(outcome)["message"] == f"The migration is running{progress}"


@pytest.mark.parametrize(
    ("resource", "group", "field", "message"),
    [
        ("", "", "spec.resource.resource", "Required value: resource is required to be set"),
        ("Pods", "", "spec.resource.resource", 'Invalid value: "Pods": a DNS-1035 label must consist of'),
        ("pods", "a_b", "spec.resource.group", 'Invalid value: "a_b": a lowercase RFC 1123 subdomain must'),
    ],
)
async def test_a_resource_is_named_validly(
    connection: Connection, resource: str, group: str, field: str, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await connection.create(STORAGE_VERSION_MIGRATIONS, migration("m", resource, group))
    (cause,) = refused.value.causes
    assert cause["field"] == field
    assert cause["message"].startswith(message)


async def test_a_migration_keeps_its_resource_and_its_end(connection: Connection) -> None:
    stored = await connection.create(STORAGE_VERSION_MIGRATIONS, migration("m", "pods"))
    with pytest.raises(Invalid) as refused:
        await connection.replace(STORAGE_VERSION_MIGRATIONS, {**stored, "spec": migration("m", "nodes")["spec"]})
    assert refused.value.causes[0]["message"] == (
        'Invalid value: {"Resource":{"group":"","resource":"nodes"}}: field is immutable'
    )

    def condition(kind: str) -> Object:
        return {
            "type": kind,
            "status": "True",
            "reason": "R",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }

    async def write(version: str, *kinds: str) -> list[str]:
        latest = await connection.get(STORAGE_VERSION_MIGRATIONS, "m")
        status = {"resourceVersion": version, "conditions": [condition(kind) for kind in kinds]}
        try:
            await connection.replace_status(STORAGE_VERSION_MIGRATIONS, {**latest, "status": status})
        except Invalid as error:
            return [cause["message"].rpartition(": ")[2] for cause in error.causes]
        return []

    both = "Both success and failed conditions cannot be true at the same time"
    assert await write("01") == ["01"]
    assert await write("7", "Succeeded", "Failed") == [both]
    assert await write("7", "Failed") == []
    assert await write("8", "Failed") == ["field is immutable"]
    assert await write("7") == ["Failed condition cannot be set to false once it is true"]
