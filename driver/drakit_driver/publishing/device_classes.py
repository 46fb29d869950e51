"""Applying the DeviceClasses that a cluster administrator would install together with the driver.

What they are is said by the profile; here is how they get along with those of other people and other instances.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.resources import DEVICE_CLASSES, RESOURCE_SLICES
from drakit_driver.api_versions import served_version
from drakit_driver.reports import Problem, Report

log = logging.getLogger(__name__)


_MANAGED_BY = {"app.kubernetes.io/managed-by": "drakit"}


async def apply(connection: Connection, classes: Sequence[Object], report: Report = log.info) -> None:
    """Create the classes; one that exists is updated if drakit made it, and left alone if somebody else did."""
    resource = DEVICE_CLASSES.in_version(await served_version(connection))
    for wanted in classes:
        name = wanted["metadata"]["name"]
        labels = {**(wanted["metadata"].get("labels") or {}), **_MANAGED_BY}
        try:
            await connection.create(resource, {"metadata": {"name": name, "labels": labels}, "spec": wanted["spec"]})
        except AlreadyExists:
            stored = await connection.get(resource, name)
            if stored["spec"] == wanted["spec"]:
                continue
            if not _ours(stored):
                report(Problem(f"device class {name} exists with another spec and is not drakit's: left as it is"))
                continue
            await connection.replace(resource, {**stored, "spec": wanted["spec"]})
        report(f"device class {name}: applied")


async def remove_unused(
    connection: Connection, driver: str, classes: Sequence[Object], report: Report = log.info
) -> None:
    """Delete drakit's classes, unless another instance of the driver still publishes slices."""
    if not classes:  # a plugin that publishes nothing has no right to ask, either
        return
    version = await served_version(connection)
    slices = await connection.list(RESOURCE_SLICES.in_version(version), field_selector=f"spec.driver={driver}")
    if slices["items"]:
        return
    resource = DEVICE_CLASSES.in_version(version)
    for wanted in classes:
        name = wanted["metadata"]["name"]
        try:
            stored = await connection.get(resource, name)
            if _ours(stored):
                await connection.delete(resource, name, uid=stored["metadata"].get("uid"))
                report(f"device class {name}: removed")
        except NotFound:
            continue


def _ours(stored: Object) -> bool:
    labels = stored["metadata"].get("labels") or {}
    return _MANAGED_BY.items() <= labels.items()
