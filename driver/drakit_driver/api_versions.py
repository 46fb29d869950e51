"""Which version of resource.k8s.io an API server has.

Kubernetes 1.32 serves v1beta1 alone and 1.33 v1beta2 beside it; a driver for a version skew matrix must work with all
of them. Slices are converted where they are sent; of a claim the driver reads ``status.allocation``, whose members it
uses are the same in all three versions.
"""

from __future__ import annotations

import asyncio

from drakit_api.objects import conversion
from drakit_api.objects.schema import GROUP
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, NotFound

_KIND = "ResourceSlice"


class NoServedVersion(Exception):
    """The API server serves no version of resource.k8s.io that drakit knows."""


# What keeps the driver from its server while nothing is wrong with the driver: it is told, and tried again.
API_FAILURES = (*REQUEST_FAILURES, NoServedVersion)


async def served_version(connection: Connection) -> str:
    """Return the newest known version of the group that the server serves. Raises ``NoServedVersion``."""
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
