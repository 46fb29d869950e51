"""What ``drakit cluster list`` prints: all clusters of ``$DRAKIT_HOME``, also those that ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from drakit_client.processes.text_columns import aligned
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters.home import ClusterHome, named_homes
from drakit_kind.local.backend import LocalCluster

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


@dataclass(frozen=True)
class Row:
    """One cluster; ``age`` is in seconds since it was made. What is unknown is None."""

    name: str
    state: str
    version: str | None
    nodes: int | None
    url: str | None
    age: int


def rows() -> list[Row]:
    """Return the clusters by name; a state is running, starting, ended, never ready or damaged."""
    return [_row(home) for home in named_homes()]


def _row(home: ClusterHome) -> Row:
    age = int(time.time() - home.made_at())
    name = home.directory.name
    try:
        spec = home.read_spec()
    except ClusterError:
        return Row(name, "damaged", None, None, None, age)
    if spec is None:  # removed since
        return Row(name, "ended", None, None, None, age)
    state = _state(home)
    url = LocalCluster(spec, home).url if state in ("running", "starting") else None
    return Row(name, state, _version(spec), len(spec.nodes), url, age)


def _state(home: ClusterHome) -> str:
    if home.running_pid() is not None:
        return "running" if home.was_ready else "starting"
    return "ended" if home.was_ready else "never ready"


def _version(spec: ClusterSpec) -> str:
    emulated = f", emulating {spec.emulated_version}" if spec.emulated_version else ""
    return f"{spec.version}{emulated}"


def table(clusters: Sequence[Row]) -> str:
    """Align the clusters in columns, as kubectl does."""
    head = ("NAME", "STATE", "VERSION", "NODES", "URL", "AGE")
    cells = [head, *((*map(_shown, list(asdict(row).values())[:-1]), _age(row.age)) for row in clusters)]
    return "\n".join(aligned(cells, gap=3))


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _age(seconds: int) -> str:
    """Write seconds in the largest unit of which there are two or more, rounded down, e.g. ``90s``, ``5m``."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
