"""What was going on when a test failed: its objects, their events, and the ends of all logs.

It is gathered before the test's cluster objects are taken away, and goes where pytest shows captured output, so that a
failure in somebody's CI can be understood without a second run. Who wants all of the logs names a directory.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from drakit_client.resources import PODS, RESOURCE_CLAIMS
from drakit_kind.cluster import COMPONENTS, Driver
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.cluster_logs import part_head, told, whole
from drakit_kind.clusters.lifecycle import Cluster

_LINES = 60  # of each log
_LEAST_LINES = 15  # of each of its parts
_NAME_LENGTH = 150  # file systems take 255 bytes
_HASH_LENGTH = 6


def gather(api: Api, cluster: Cluster, drivers: Sequence[Driver], *, keep: Path | None = None) -> list[tuple[str, str]]:
    """Return titles and texts. Never raises: where something cannot be had, the text says why.

    Of logs, these are the last lines; all of each goes into a file of the directory ``keep``.
    """
    objects = "\n".join(told(partial(_objects, api)))
    logs = [(f"log of driver {_name(driver)}", whole(driver.logs)) for driver in drivers]
    logs += [(f"log of {component}", whole(partial(cluster.logs, component))) for component in COMPONENTS]
    sections = [("pods, claims and events", objects), *((title, _end(text)) for title, text in logs)]
    if keep is not None:
        sections.append(("all of the logs", "\n".join(told(lambda: [_write(keep, [sections[0], *logs])]))))
    return [(title, text) for title, text in sections if text.strip()]


def _write(directory: Path, texts: Iterable[tuple[str, str]]) -> str:
    """Write each text into a file named by its title; return a sentence that says where they are."""
    directory.mkdir(parents=True, exist_ok=True)
    names: Counter[str] = Counter()
    for title, text in texts:
        names[title] += 1
        number = f" {names[title]}" if names[title] > 1 else ""  # drivers on different nodes may have one name
        (directory / f"{file_name(title + number)}.txt").write_text(text)
    return f"are in {directory}"


def file_name(title: str) -> str:
    """Make a file name that is different for each title, whatever its length and characters."""
    name = re.sub(r"[^a-z0-9_.,=-]+", "-", title, flags=re.IGNORECASE | re.ASCII).strip("-.")
    if name == title.replace(" ", "-") and len(name) <= _NAME_LENGTH:
        return name
    return f"{name[:_NAME_LENGTH]}-{hashlib.sha256(title.encode()).hexdigest()[:_HASH_LENGTH]}"


def _objects(api: Api) -> Iterator[str]:
    for resource in (PODS, RESOURCE_CLAIMS):
        for obj in api.objects(resource):
            yield f"{resource.kind} {obj['metadata']['name']}: {_status(obj)}"
    yield from (f"event of {name}: {text}" for name, text in api.all_events())


def _status(obj: dict[str, Any]) -> str:
    status = {key: value for key, value in obj.get("status", {}).items() if key != "containerStatuses"}
    return yaml.safe_dump(status, default_flow_style=True, width=10_000).strip()


def _name(driver: Driver) -> str:
    return "".join(told(lambda: [driver.name]))


def _end(text: str) -> str:
    """Return the last lines of a log, or of each part of it (a program, or a node)."""
    parts = [part for part in re.split(rf"^(?={part_head('')})", text, flags=re.MULTILINE) if part] or [""]
    lines = max(_LINES // len(parts), _LEAST_LINES)
    return "\n".join(line for part in parts for line in _last(part.splitlines(), lines))


def _last(lines: list[str], count: int) -> list[str]:
    """Return the last ``count`` lines, after the heading if there is one."""
    head = [line for line in lines[:-count][:1] if line.startswith(part_head(""))]
    return head + lines[-count:]
