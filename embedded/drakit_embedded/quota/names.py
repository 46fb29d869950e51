"""Names of resources in pods, quotas and limit ranges (k8s.io/kubernetes/pkg/apis/core/helper/helpers.go)."""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api import formats
from drakit_api.core.pod_resources import OF_PODS

REQUESTS = "requests."
# Prefix for the extended resources of device classes, before the name of the class.
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
# Suffix for devices of a class, however they are requested.
PER_CLASS = ".deviceclass.resource.k8s.io/devices"
# Resources that containers have without a device.
COMPUTE = ("cpu", "memory", "ephemeral-storage")
_SIDES = (REQUESTS, "limits.")
HUGE_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"
_GROUPLESS = "count/"


def with_sides(names: Iterable[str]) -> frozenset[str]:
    """Add the names with the prefixes ``requests.`` and ``limits.``, as quotas have them."""
    return frozenset(side + name for name in names for side in ("", *_SIDES))


# A quota on one of these requires that pods state their requests or limits.
CPU_AND_MEMORY = with_sides(OF_PODS)
_COUNTS = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_STANDARD = _COUNTS | with_sides(COMPUTE) | {"requests.storage"}


def count_of(group: str, plural: str) -> str:
    """Build the name that counts objects of a kind (``count/deployments.apps``)."""
    return f"{_GROUPLESS}{plural}.{group}" if group else f"{_GROUPLESS}{plural}"


def is_count(name: str) -> bool:
    """Check whether it counts the objects of a kind, as ``count_of`` names them."""
    return name.startswith(_GROUPLESS)


def is_huge_pages(name: str) -> bool:
    """Check whether it is huge pages of one size."""
    return name.startswith(HUGE_PAGES)


def is_huge_pages_in_quota(name: str) -> bool:
    """Check whether a quota on it limits huge pages: their name, with or without ``requests.``."""
    return name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))


def is_standard_in_quota(name: str) -> bool:
    """Check whether a quota can have it without a prefix."""
    return name in _STANDARD or is_huge_pages_in_quota(name)


def is_standard(name: str) -> bool:
    """Check whether a limit range can have it without a prefix."""
    return name == "storage" or is_standard_in_quota(name)


def is_standard_of_containers(name: str) -> bool:
    """Check whether a container can have it without a prefix."""
    return name in COMPUTE or is_huge_pages(name)


def is_native(name: str) -> bool:
    """Check whether it is Kubernetes' own: without a prefix, or with one of Kubernetes."""
    return "/" not in name or _NATIVE in name


def can_be_overcommitted(name: str) -> bool:
    """Check whether more of it may be promised than there is (IsOvercommitAllowed)."""
    return is_native(name) and not is_huge_pages(name)


def is_extended(name: str) -> bool:
    """Check whether it is an extended resource: not Kubernetes' own, and valid in a quota behind ``requests.``."""
    return not is_native(name) and not name.startswith(REQUESTS) and not formats.label_key(REQUESTS + name)


def is_whole(name: str) -> bool:
    """Check whether there are only whole ones of it."""
    return name in _COUNTS or is_extended(name)


def is_extended_in_pods(name: str) -> bool:
    """Check whether a pod may ask for it as an extended resource, that of a device class included."""
    return name.startswith(DEVICE_CLASS) or is_extended(name)


def is_extended_in_quota(name: str) -> bool:
    """Check whether it limits an extended resource: ``requests.`` and its name."""
    return name.startswith(REQUESTS) and (name.startswith(REQUESTS + DEVICE_CLASS) or not is_native(name))
