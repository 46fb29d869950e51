"""The DeviceClasses that a cluster administrator would install together with the driver.

For the NVIDIA driver these are the ones of its Helm chart (templates/deviceclass-*.yaml): ``gpu.nvidia.com`` and
``mig.nvidia.com``; for all others one class of the driver's name. A driver that runs under another name has classes of
that name, so that drivers of parallel tests do not share any.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from drakit_client.connection import Connection
from drakit_client.errors import AlreadyExists, NotFound
from drakit_client.resources import DEVICE_CLASSES, RESOURCE_SLICES
from drakit_driver.environment import is_nvidia
from drakit_driver.slice_versions import served_version

if TYPE_CHECKING:
    from drakit_api.pools import Pool

log = logging.getLogger(__name__)

Object = dict[str, Any]
Report = Callable[[str], None]

NVIDIA_DRIVER = "gpu.nvidia.com"
_MANAGED_BY = {"app.kubernetes.io/managed-by": "drakit"}


def device_classes(driver: str, pools: Iterable[Pool]) -> list[Object]:
    """The classes for a driver's devices, in the form of resource.k8s.io/v1."""
    if not any(is_nvidia(device) for pool in pools for device in pool.devices):
        return [_device_class(driver, f"device.driver == '{driver}'")]
    by_type = "device.driver == '{driver}' && device.attributes['{driver}'].type == '{type}'"
    full = _device_class(driver, by_type.format(driver=driver, type="gpu"))
    if driver == NVIDIA_DRIVER:
        full["spec"]["extendedResourceName"] = "nvidia.com/gpu"
    return [full, _device_class(mig_class_name(driver), by_type.format(driver=driver, type="mig"))]


def mig_class_name(driver: str) -> str:
    """``mig.nvidia.com`` for ``gpu.nvidia.com``, ``mig.X`` for any other driver X."""
    return "mig." + driver.removeprefix("gpu.")


async def apply(connection: Connection, classes: Sequence[Object], report: Report = log.info) -> None:
    """Create the classes; one that exists is updated if drakit made it, and left alone if somebody else did."""
    resource = DEVICE_CLASSES.in_version(await served_version(connection))
    for wanted in classes:
        name = wanted["metadata"]["name"]
        try:
            await connection.create(resource, wanted)
        except AlreadyExists:
            stored = await connection.get(resource, name)
            if stored["spec"] == wanted["spec"]:
                continue
            if not _ours(stored):
                report(f"device class {name} exists with another spec and is not drakit's: left as it is")
                continue
            await connection.replace(resource, {**stored, "spec": wanted["spec"]})
        report(f"device class {name}: applied")


async def remove_unused(
    connection: Connection, driver: str, classes: Sequence[Object], report: Report = log.info
) -> None:
    """Delete drakit's classes, unless another instance of the driver still publishes slices."""
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


def _device_class(name: str, expression: str) -> Object:
    return {
        "metadata": {"name": name, "labels": dict(_MANAGED_BY)},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
