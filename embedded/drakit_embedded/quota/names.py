"""Names of resources in pods and in quotas (k8s.io/kubernetes/pkg/apis/core/v1/helper/helpers.go)."""

from __future__ import annotations

REQUESTS = "requests."
HUGE_PAGES = ("hugepages-", "requests.hugepages-")
# Extended resources that stand for devices of a class, by its name.
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
# Devices of a class, wherever they are asked for.
PER_CLASS = ".deviceclass.resource.k8s.io/devices"
_NATIVE = "kubernetes.io/"
_GROUPLESS = "count/"


def count_of(group: str, plural: str) -> str:
    """The name that counts objects of a kind."""
    return f"{_GROUPLESS}{plural}.{group}" if group else f"{_GROUPLESS}{plural}"


def is_extended(name: str) -> bool:
    """Whether a pod may ask for it as an extended resource."""
    return name.startswith(DEVICE_CLASS) or ("/" in name and _NATIVE not in name and not name.startswith(REQUESTS))


def is_extended_in_quota(name: str) -> bool:
    """Whether it limits an extended resource: ``requests.`` and its name."""
    if not name.startswith(REQUESTS):
        return False
    return name.startswith(REQUESTS + DEVICE_CLASS) or ("/" in name and _NATIVE not in name)
