"""What was going on when a test failed: its objects, their events, and the ends of all logs.

It is gathered before the test's cluster objects are taken away, and goes where pytest shows captured output, so that a
failure in somebody's CI can be understood without a second run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import yaml

from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.api import Api
from drakit_kind.cluster import COMPONENTS, Cluster, Driver

_LINES = 60  # of each log


def gather(api: Api, cluster: Cluster, drivers: Sequence[Driver]) -> list[tuple[str, str]]:
    """Titles and texts. Never raises: where something cannot be had, it says why."""
    sections = [("pods, claims and events", "\n".join(_told(partial(_objects, api))))]
    sections += [(f"log of driver {_name(driver)}", _end(driver.logs)) for driver in drivers]
    sections += [(f"log of {component}", _end(partial(cluster.logs, component))) for component in COMPONENTS]
    return [(title, text) for title, text in sections if text.strip()]


def _told(lines: Callable[[], Iterable[str]]) -> Iterator[str]:
    """As many of the lines as can be had."""
    try:
        yield from lines()
    except Exception as error:  # whatever it is, it must not take the place of the failure that is reported
        yield f"this cannot be told: {type(error).__name__}: {error}"


def _objects(api: Api) -> Iterator[str]:
    for resource in (PODS, RESOURCE_CLAIMS):
        for obj in api.objects(resource):
            yield f"{resource.kind} {obj['metadata']['name']}: {_status(obj)}"
    yield from (f"event of {name}: {text}" for name, text in api.all_events())


def _status(obj: dict[str, Any]) -> str:
    status = {key: value for key, value in obj.get("status", {}).items() if key != "containerStatuses"}
    return yaml.safe_dump(status, default_flow_style=True, width=10_000).strip()


def _name(driver: Driver) -> str:
    return "".join(_told(lambda: [driver.name]))


def _end(log: Callable[[], str]) -> str:
    return "\n".join(list(_told(lambda: log().splitlines()))[-_LINES:])
