"""Configuration that a claim or class carries for the driver: the kinds of the NVIDIA driver, decoded strictly.

A typing error in a config must fail the pod with a message, not run it with other settings, so unknown kinds and fields
are errors, as with the real driver (api/nvidia.com/resource/v1beta1 of kubernetes-sigs/dra-driver-nvidia-gpu). The mock
acts as if the feature gates TimeSlicingSettings and MPSSupport were on. Devices of other families have no kinds of
their own: a TPU's config is an error, and for an author's own layout the config is the author's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from drakit_api.quantity import Quantity, QuantityError

API_VERSION = "resource.nvidia.com/v1beta1"
Family = Literal["gpu", "mig", "tpu", "other"]


class ConfigError(ValueError):
    """A config that the driver refuses."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    pass


class TimeSlicing(_Strict):
    """Length of a time slice; the driver's own names."""

    interval: Literal["Default", "Short", "Medium", "Long"] = "Default"


class Mps(_Strict):
    """Limits of the CUDA Multi-Process Service."""

    default_active_thread_percentage: int | None = None
    default_pinned_device_memory_limit: str | None = None
    default_per_device_pinned_memory_limit: dict[str, str] | None = None
    multi_user: bool | None = None


class GpuSharing(_Strict):
    """How several containers share a GPU."""

    strategy: Literal["TimeSlicing", "MPS"]
    time_slicing_config: TimeSlicing | None = None
    mps_config: Mps | None = None


class MigSharing(_Strict):
    """How several containers share a MIG device; its time slices cannot be set."""

    strategy: Literal["TimeSlicing", "MPS"]
    mps_config: Mps | None = None


class GpuConfig(_Strict):
    """``kind: GpuConfig``."""

    api_version: str
    kind: str
    sharing: GpuSharing | None = None


class MigDeviceConfig(_Strict):
    """``kind: MigDeviceConfig``."""

    api_version: str
    kind: str
    sharing: MigSharing | None = None


class DeviceConfig:
    """A decoded config, for devices of one family."""

    def __init__(self, family: Family, sharing: GpuSharing | MigSharing | None) -> None:
        self.family = family
        self._sharing = sharing

    def variables(self) -> dict[str, str]:
        """Return suffixes of variable names, and values, that tell a container how its device is shared."""
        if self._sharing is None:
            return {}
        variables: dict[str, str] = {"SHARING_STRATEGY": self._sharing.strategy}
        if isinstance(self._sharing, GpuSharing) and self._sharing.strategy == "TimeSlicing":
            variables["TIMESLICE_INTERVAL"] = (self._sharing.time_slicing_config or TimeSlicing()).interval
        mps = self._sharing.mps_config
        if mps is not None and mps.default_active_thread_percentage is not None:
            variables["ACTIVE_THREAD_PERCENTAGE"] = str(mps.default_active_thread_percentage)
        if mps is not None and mps.default_pinned_device_memory_limit is not None:
            variables["PINNED_MEMORY_LIMIT"] = mps.default_pinned_device_memory_limit
        return variables


_KINDS: dict[str, tuple[Family, type[GpuConfig] | type[MigDeviceConfig]]] = {
    "GpuConfig": ("gpu", GpuConfig),
    "MigDeviceConfig": ("mig", MigDeviceConfig),
}


def decode(parameters: object) -> DeviceConfig:
    """Decode ``opaque.parameters``; raises ``ConfigError`` with the path of what is wrong."""
    if not isinstance(parameters, Mapping):
        raise ConfigError("opaque parameters must be an object with apiVersion and kind")
    kind = str(parameters.get("kind"))
    if parameters.get("apiVersion") != API_VERSION or kind not in _KINDS:
        raise ConfigError(
            f"no kind {kind!r} in {parameters.get('apiVersion')!r}; known are {', '.join(_KINDS)} in {API_VERSION}"
        )
    family, cls = _KINDS[kind]
    try:
        sharing = msgspec.convert(parameters, cls).sharing
    except msgspec.ValidationError as error:
        raise ConfigError(f"{kind}: {error}") from error
    if sharing is not None:
        _check_sharing(kind, sharing)
    return DeviceConfig(family, sharing)


def _check_sharing(kind: str, sharing: GpuSharing | MigSharing) -> None:
    if sharing.strategy == "TimeSlicing" and sharing.mps_config is not None:
        raise ConfigError(f"{kind}: sharing.mpsConfig must not be set with strategy TimeSlicing")
    if sharing.strategy == "MPS" and isinstance(sharing, GpuSharing) and sharing.time_slicing_config is not None:
        raise ConfigError(f"{kind}: sharing.timeSlicingConfig must not be set with strategy MPS")
    if sharing.mps_config is not None:
        _check_mps(kind, sharing.mps_config)


def _check_mps(kind: str, mps: Mps) -> None:
    percentage = mps.default_active_thread_percentage
    if percentage is not None and not 0 < percentage <= 100:
        raise ConfigError(f"{kind}: sharing.mpsConfig.defaultActiveThreadPercentage must be 1 to 100, is {percentage}")
    limits = {"defaultPinnedDeviceMemoryLimit": mps.default_pinned_device_memory_limit}
    for device, limit in (mps.default_per_device_pinned_memory_limit or {}).items():
        limits[f"defaultPerDevicePinnedMemoryLimit[{device!r}]"] = limit
    for field, amount in limits.items():
        try:
            Quantity.parse(amount or "0")
        except QuantityError as error:
            raise ConfigError(f"{kind}: sharing.mpsConfig.{field} is {amount!r}: {error}") from error


def applies_to(entry: Mapping[str, Any], request: str) -> bool:
    """Tell whether a config entry of an allocation is for a request; ``gpu`` covers its subrequests ``gpu/big`` too."""
    requests = entry.get("requests") or []
    return not requests or request in requests or request.partition("/")[0] in requests


def config_for(entries: Sequence[Mapping[str, Any]], driver: str, request: str, family: Family) -> DeviceConfig | None:
    """Return the config of a device: the last that fits, so that a claim's wins over its class's; or None.

    ``entries`` is ``allocation.devices.config``. A config without ``requests`` is for all devices of its kind.
    Raises ``ConfigError`` for one that names a request of another kind of device.
    """
    chosen = None
    for entry in sorted(entries, key=lambda entry: entry.get("source") != "FromClass"):
        opaque = entry.get("opaque") or {}
        if family == "other" or opaque.get("driver") != driver or not applies_to(entry, request):
            continue
        config = decode(opaque.get("parameters"))
        if config.family == family:
            chosen = config
        elif entry.get("requests"):
            kind = opaque["parameters"]["kind"]
            raise ConfigError(f"{kind} cannot be applied to request {request}: its device is a {family}")
    return chosen
