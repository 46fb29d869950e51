"""What commands tell of components that have ended by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from drakit_kind.processes.supervision import Ending

_REASON_LINES = 3


def lines(endings: Iterable[Ending]) -> list[str]:
    """Say of each component how often it has ended since the cluster was started, and why at last."""
    ends: dict[str, list[Ending]] = {}
    for ending in endings:
        ends.setdefault(ending.component, []).append(ending)
    told = []
    for component, found in ends.items():
        often = "once" if len(found) == 1 else f"{len(found)} times, the last time"
        told.append(f"{component} ended by itself {often} at {found[-1].at}: {_brief(found[-1].reason)}")
    return told


def _brief(reason: str) -> str:
    """Shorten a reason to its first line and the panic in the log, or else the log's last lines."""
    first, *log = reason.splitlines()
    panic = next((number for number, line in enumerate(log) if line.strip().startswith("panic: ")), -_REASON_LINES)
    return "\n".join([first, *log[panic:][:_REASON_LINES]])
