"""ResourceSlices of API servers that do not serve resource.k8s.io/v1 yet.

Kubernetes 1.32 serves v1beta1 alone and 1.33 v1beta2 beside it; a driver for a version skew matrix must publish to all
of them. Only slices need converting: of a claim the driver reads ``status.allocation``, whose members it uses are the
same in all three versions.
"""

from __future__ import annotations

import asyncio
from typing import Any

from drakit_api import conversion
from drakit_api.conversion import GROUP
from drakit_client.connection import Connection
from drakit_client.errors import NotFound

Object = dict[str, Any]
_KIND = "ResourceSlice"


class NoServedVersion(Exception):
    """The API server serves no version of resource.k8s.io that drakit knows."""


async def served_version(connection: Connection) -> str:
    """The newest known version of the group that the server serves; raises ``NoServedVersion``."""
    try:
        async with asyncio.timeout(30):
            group = await connection.json("GET", f"/apis/{GROUP}")
    except NotFound:
        served: list[str] = []
    else:
        served = [entry["version"] for entry in group.get("versions") or []]
    known = conversion.versions(_KIND)
    for version in known:
        if version in served:
            return version
    raise NoServedVersion(
        f"the API server serves {', '.join(served) or 'no version'} of {GROUP}, need one of {', '.join(known)}; "
        "start kube-apiserver with --runtime-config=resource.k8s.io/v1beta1=true or use Kubernetes 1.34 or later"
    )


def to_version(slice_: Object, version: str) -> Object:
    """A v1 slice in the wire form of ``version``; the argument is not changed."""
    return {**conversion.from_v1(_KIND, slice_, version), "apiVersion": f"{GROUP}/{version}", "kind": _KIND}


def from_version(slice_: Object, version: str) -> Object:
    """A slice as read in ``version`` in the form of v1; the argument is not changed."""
    return conversion.to_v1(_KIND, slice_, version)
