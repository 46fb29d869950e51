"""Which lines of which files are the log of a cluster on this machine, or of one of its components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from drakit_kind.cluster import Component
from drakit_kind.control_plane.flags import PROGRAMS
from drakit_kind.home import ClusterHome


def lines(home: ClusterHome, component: Component | None = None) -> Iterator[str]:
    """Each with its end: all, or what a component's programs have printed; of ours, what the supervisor says of it.

    Of several files, a line like ``== kubelet-node-1`` is before each. Raises ``FileNotFoundError`` where no cluster
    was ever started.
    """
    files = _files(home, component)
    if component is None:
        files.insert(0, home.log)
    elif not (_is_real(home, component) and any(path.stat().st_size for path in files)):
        yield from (line for line in _lines(home.log) if component in line)
        return
    yield from _joined([path for path in files if path.stat().st_size])


def _joined(files: list[Path]) -> Iterator[str]:
    for path in files:
        if len(files) > 1:
            yield f"{part_head(path.stem)}\n"
        for line in _lines(path):
            yield line if line.endswith("\n") else f"{line}\n"  # the last one of a program that was killed


def part_head(name: str) -> str:
    """The line before one of several logs that are shown as one."""
    return f"== {name}"


def told(lines: Callable[[], Iterable[str]]) -> Iterator[str]:
    """As many of the lines as can be had, and why there are no more."""
    try:
        yield from lines()
    except Exception as error:  # whatever it is, it must not take the place of what is told beside it
        yield f"this cannot be told: {type(error).__name__}: {error}"


def whole(log: Callable[[], str]) -> str:
    """All of a log, or why it cannot be had."""
    return "\n".join(told(lambda: log().splitlines()))


def _is_real(home: ClusterHome, component: Component) -> bool:
    """In the last run: a log of an earlier one, where it was another one, tells nothing of it."""
    spec = home.read_spec()
    return spec is not None and component in spec.real


def _files(home: ClusterHome, component: Component | None) -> list[Path]:
    """They are named after their program, those of nodes after the node too: ``kubelet-node-1.log``."""
    files = sorted(home.logs.glob("*.log"))
    if component is None:
        return files
    return [path for path in files if any(f"{path.stem}-".startswith(f"{name}-") for name in PROGRAMS[component])]


def _lines(path: Path) -> Iterator[str]:
    with path.open(errors="replace") as file:
        yield from file
