"""Which extended resource a device class stands for.

After k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drakit_embedded.quota.names import DEVICE_CLASS


class DeviceClasses:
    """A snapshot of the device classes; replaced when they change."""

    def __init__(self, classes: Iterable[dict[str, Any]]) -> None:
        self._names: set[str] = set()
        self._extended: dict[str, str] = {}
        for found in classes:
            name = found["metadata"]["name"]
            self._names.add(name)
            if extended := (found.get("spec") or {}).get("extendedResourceName"):
                self._extended[name] = extended

    def extended_resource(self, name: str) -> str:
        """Find the extended resource by which pods can request a device class; empty if there is none."""
        return self._extended.get(name, "")

    def has(self, resource: str) -> bool:
        """Check whether an extended resource is devices of a class."""
        return resource in self._extended.values() or (
            resource.startswith(DEVICE_CLASS) and resource.removeprefix(DEVICE_CLASS) in self._names
        )
