"""Configs of claims and classes: which one applies to a device, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_driver.preparing.opaque import ConfigError, Family, config_for, decode

DRIVER = "gpu.nvidia.com"


def parameters(kind: str = "GpuConfig", **fields: Any) -> Object:
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **fields}


def entry(source: str, body: Object, *requests: str, driver: str = DRIVER) -> Object:
    return {"source": source, "requests": list(requests), "opaque": {"driver": driver, "parameters": body}}


def slicing(interval: str) -> Object:
    return parameters(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (None, "opaque parameters must be an object with apiVersion and kind"),
        ({}, "no kind 'None' in None; known are GpuConfig, MigDeviceConfig in resource.nvidia.com/v1beta1"),
        (
            parameters("VfioDeviceConfig"),
            "no kind 'VfioDeviceConfig' in 'resource.nvidia.com/v1beta1'; known are GpuConfig, MigDeviceConfig in "
            "resource.nvidia.com/v1beta1",
        ),
        (parameters(sharnig={}), "GpuConfig: Object contains unknown field `sharnig`"),
        (
            parameters(sharing={"strategy": "Fair"}),
            "GpuConfig: Invalid enum value 'Fair' - at `$.sharing.strategy`",
        ),
        (
            parameters("MigDeviceConfig", sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {}}),
            "MigDeviceConfig: Object contains unknown field `timeSlicingConfig` - at `$.sharing`",
        ),
        (
            parameters(sharing={"strategy": "TimeSlicing", "mpsConfig": {}}),
            "GpuConfig: sharing.mpsConfig must not be set with strategy TimeSlicing",
        ),
        (
            parameters(sharing={"strategy": "MPS", "timeSlicingConfig": {}}),
            "GpuConfig: sharing.timeSlicingConfig must not be set with strategy MPS",
        ),
        (
            parameters(sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 0}}),
            "GpuConfig: sharing.mpsConfig.defaultActiveThreadPercentage must be 1 to 100, is 0",
        ),
        (
            parameters(sharing={"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "1Gi\nX=y"}}),
            "GpuConfig: sharing.mpsConfig.defaultPinnedDeviceMemoryLimit is '1Gi\\nX=y': quantities must match the "
            "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            parameters(sharing={"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"0": "\0"}}}),
            "GpuConfig: sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit['0'] is '\\x00': quantities must match the "
            "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_refused_configs(body: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decode(body)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("entries", "family", "expected"),
    [
        ([], "gpu", None),
        ([entry("FromClass", slicing("Short"))], "gpu", "Short"),
        ([entry("FromClaim", slicing("Long")), entry("FromClass", slicing("Short"))], "gpu", "Long"),
        ([entry("FromClaim", slicing("Short")), entry("FromClaim", slicing("Long"))], "gpu", "Long"),
        ([entry("FromClaim", slicing("Long"), "other")], "gpu", None),
        ([entry("FromClaim", slicing("Long"), "gpu")], "gpu", "Long"),
        ([entry("FromClaim", slicing("Long"), "gpu/big")], "gpu", "Long"),
        ([entry("FromClaim", slicing("Long"), "gpu/small")], "gpu", None),
        ([entry("FromClaim", slicing("Long"), driver="else.example.com")], "gpu", None),
        ([entry("FromClaim", slicing("Long"))], "mig", None),
        ([entry("FromClaim", {"any": "thing"}, "gpu")], "other", None),
    ],
    ids=[
        "none", "class", "claim-over-class", "last-wins", "other-request", "request-covers-subrequest", "subrequest",
        "other-subrequest", "other-driver", "general-config-of-another-kind", "authors-own",
    ],
)  # fmt: skip
def test_config_of_a_device(entries: list[Object], family: Family, expected: str | None) -> None:
    config = config_for(entries, DRIVER, "gpu/big", family)
    assert (config.variables()["TIMESLICE_INTERVAL"] if config else None) == expected


def test_config_that_names_a_request_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="GpuConfig cannot be applied to request gpu: its device is a mig"):
        config_for([entry("FromClaim", slicing("Long"), "gpu")], DRIVER, "gpu", "mig")


def test_no_config_fits_a_tpu() -> None:
    with pytest.raises(ConfigError, match="no kind 'TpuConfig'"):
        config_for([entry("FromClaim", parameters("TpuConfig"))], DRIVER, "gpu", "tpu")
