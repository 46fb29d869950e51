"""What was going on when a test failed: its objects, their events, and the ends of all logs.

It is gathered before the test's cluster objects are taken away, and goes where pytest shows captured output, so that a
failure in somebody's CI can be understood without a second run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.api import Api
from drakit_kind.cluster import COMPONENTS, Cluster, ClusterError, Component, Driver

_LINES = 60  # of each log


def gather(api: Api, cluster: Cluster, drivers: Sequence[Driver]) -> list[tuple[str, str]]:
    """Titles and texts. Never raises for a cluster that does not answer: that is what it says then."""
    sections = [("pods, claims and events", _objects(api))]
    sections += [(f"log of driver {driver.name}", _end(driver.logs())) for driver in drivers]
    sections += [(f"log of {component}", _log(cluster, component)) for component in COMPONENTS]
    return [(title, text) for title, text in sections if text.strip()]


def _objects(api: Api) -> str:
    try:
        return "\n".join(_lines(api))
    except (*REQUEST_FAILURES, TimeoutError) as error:
        return f"the API server does not answer: {error}"


def _lines(api: Api) -> Iterator[str]:
    for resource in (PODS, RESOURCE_CLAIMS):
        for obj in api.objects(resource):
            yield f"{resource.kind} {obj['metadata']['name']}: {_status(obj)}"
    yield from (f"event of {name}: {text}" for name, text in api.all_events())


def _status(obj: dict[str, Any]) -> str:
    status = {key: value for key, value in obj.get("status", {}).items() if key != "containerStatuses"}
    return yaml.safe_dump(status, default_flow_style=True, width=10_000).strip()


def _log(cluster: Cluster, component: Component) -> str:
    try:
        return _end(cluster.logs(component))
    except (ClusterError, OSError) as error:
        return str(error)


def _end(text: str) -> str:
    return "\n".join(text.splitlines()[-_LINES:])
