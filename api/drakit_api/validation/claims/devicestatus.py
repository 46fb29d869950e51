"""What a driver reports about an allocated device.

Source: ``validateDeviceStatus`` and ``validateNetworkDeviceData`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``; ``IsValidInterfaceAddress`` of ``k8s.io/apimachinery`` v0.37.1
``pkg/util/validation/ip.go``.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from drakit_api import formats, limits
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import bounded
from drakit_api.objects.allocations import DeviceID, device_id
from drakit_api.validation import names
from drakit_api.validation.conditions import conditions
from drakit_api.validation.configuration import json_object
from drakit_api.validation.errors import Errors, at_most, invalid, too_many
from drakit_api.validation.items import declared_set, each

_MOST_BITS = 128  # of an address


def device_status(value: dict[str, Any], path: str, allocated: set[DeviceID]) -> Errors:
    """Check one entry of ``status.devices``; it must be about an allocated device."""
    driver, pool, device, share = key = device_id(value)
    yield from names.driver(driver, f"{path}.driver")
    yield from names.pool(pool, f"{path}.pool")
    yield from names.dns_label(device, f"{path}.device")
    if key not in allocated:
        shown = {"Driver": driver, "Pool": pool, "Device": device, "ShareID": share}
        yield invalid(path, shown, "must be an allocated device in the claim")
    entries = value.get("conditions") or []
    if len(entries) > limits.DEVICE_STATUS_CONDITIONS:
        yield too_many(f"{path}.conditions", len(entries), limits.DEVICE_STATUS_CONDITIONS)
    yield from conditions(entries, f"{path}.conditions")
    if value.get("data") is not None:
        yield from json_object(value["data"], f"{path}.data", limits.DEVICE_STATUS_DATA_LENGTH)
    addresses = (value.get("networkData") or {}).get("ips")
    yield from each(addresses, f"{path}.networkData.ips", _interface_address, maximum=limits.NETWORK_IPS)


def declared_device_status(value: dict[str, Any], path: str) -> Errors:
    """Check the share id and the sizes of the network data."""
    yield from declared_share_id(value, path)
    network = value.get("networkData") or {}
    name, maximum = network.get("interfaceName") or "", limits.NETWORK_INTERFACE_NAME_LENGTH
    yield from at_most(name, maximum, f"{path}.networkData.interfaceName")
    yield from declared_set(network.get("ips"), f"{path}.networkData.ips", limits.NETWORK_IPS)
    address, maximum = network.get("hardwareAddress") or "", limits.NETWORK_HARDWARE_ADDRESS_LENGTH
    yield from at_most(address, maximum, f"{path}.networkData.hardwareAddress")


def declared_share_id(value: dict[str, Any], path: str) -> Errors:
    """Check the share id of an allocation result or a device status."""
    if (share := value.get("shareID")) is not None:
        yield from (invalid(f"{path}.shareID", share, problem) for problem in formats.uuid(share))


def _interface_address(value: str, path: str) -> Errors:
    """Check an address with the length of its network (CIDR), which must be in the shortest form."""
    canonical = _canonical_address(value)
    if canonical is None:
        yield invalid(path, value, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")
    elif canonical != value:
        yield invalid(path, value, f"must be in canonical form ({quote(canonical)})")


def _canonical_address(value: str) -> str | None:
    address, slash, length = value.partition("/")
    if not slash or not (length.isascii() and length.isdigit()):
        return None
    # Go's "sloppy" parser takes leading zeros, also in IPv4 addresses, for decimal.
    if ":" not in address:
        address = ".".join(part.lstrip("0") or part[:1] for part in address.split("."))
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    prefix = bounded(length, _MOST_BITS)
    if prefix > parsed.max_prefixlen or "%" in address:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    if mapped is not None:
        return f"{mapped}/{prefix - 96 if prefix > 32 else prefix}"
    return f"{parsed}/{prefix}"
