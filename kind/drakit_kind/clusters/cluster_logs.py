"""Which lines of which files are the log of a cluster on this machine, or of one of its components."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from drakit_client.files import regular_files
from drakit_kind.cluster import Component
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.clusters.home import ClusterHome

_PAUSE = 0.2  # seconds between two looks at a log that is followed


def lines(home: ClusterHome, component: Component | None = None) -> Iterator[str]:
    """Yield the lines of a cluster's log, with their ends, or those of one component.

    Of a real component these are what its programs printed, of one of ours the supervisor's lines that name it. If
    there are several files, a line like ``== kubelet-node-1`` is before each. Raises ``FileNotFoundError`` where no
    cluster was ever started.
    """
    wanted = _wanted(home, component)
    if wanted.said_of:
        yield from (line for line in _lines(home.log) if wanted.said_of in line)
    else:
        yield from _joined(wanted.files)


class _Wanted(NamedTuple):
    """The files of a log, and the text of which only the lines with it belong to it ("": all do)."""

    files: list[Path]
    said_of: str = ""


def _wanted(home: ClusterHome, component: Component | None) -> _Wanted:
    files = [path for path in _files(home, component) if path.stat().st_size]
    if component is None:
        # The supervisor's file must be there: it is how one knows that there was a cluster.
        return _Wanted([*([home.log] if home.log.stat().st_size else []), *files])
    if _is_real(home, component) and files:
        return _Wanted(files)
    return _Wanted([home.log], component)


def followed(home: ClusterHome, component: Component | None = None, *, pause: float = _PAUSE) -> Iterator[str]:
    """Yield what ``lines`` yields, and then each new line until the cluster ends.

    Looks for news every ``pause`` seconds. A line like ``== kubelet-node-1`` is there whenever the file changes.
    """
    offsets: dict[Path, int] = {}
    last: Path | None = None
    while True:
        runs = home.running_pid() is not None  # asked before the last look, so that nothing is missed
        try:
            wanted = _wanted(home, component)
        except FileNotFoundError:  # `cluster down` has removed it
            return
        several = len(wanted.files) > 1
        for path in wanted.files:
            for line in _since(path, offsets, partial=not runs):
                if wanted.said_of in line:
                    if several and path != last:
                        yield f"{part_head(path.stem)}\n"
                    last = path
                    yield line
        if not runs:
            return
        time.sleep(pause)


def _since(path: Path, offsets: dict[Path, int], *, partial: bool) -> Iterator[str]:
    """Yield the lines that were added to a file; one without its end only if it will not get one."""
    try:
        with os.fdopen(regular_files.open_descriptor(path, os.O_RDONLY), "rb") as file:
            if file.seek(0, os.SEEK_END) < offsets.get(path, 0):  # another run has begun it anew
                offsets[path] = 0
            file.seek(offsets.get(path, 0))
            for raw in file:
                if not raw.endswith(b"\n") and not partial:
                    return
                offsets[path] = offsets.get(path, 0) + len(raw)
                yield raw.decode(errors="replace").rstrip("\n") + "\n"
    except FileNotFoundError:
        return


def _joined(files: list[Path]) -> Iterator[str]:
    for path in files:
        if len(files) > 1:
            yield f"{part_head(path.stem)}\n"
        for line in _lines(path):
            yield line if line.endswith("\n") else f"{line}\n"  # the last one of a program that was killed


def part_head(name: str) -> str:
    """Return the line that is shown before each of several logs."""
    return f"== {name}"


def told(lines: Callable[[], Iterable[str]]) -> Iterator[str]:
    """Yield as many of the lines as can be had, and then why there are no more."""
    try:
        yield from lines()
    except Exception as error:  # whatever it is, it must not take the place of what is told beside it
        yield f"this cannot be told: {type(error).__name__}: {error}"


def whole(log: Callable[[], str]) -> str:
    """Return all of a log, or why it cannot be had."""
    return "\n".join(told(lambda: log().splitlines()))


def _is_real(home: ClusterHome, component: Component) -> bool:
    """Whether it was real in the last run: logs of an earlier run, in which it was, say nothing of that."""
    spec = home.read_spec()
    return spec is not None and component in spec.real


def _files(home: ClusterHome, component: Component | None) -> list[Path]:
    """They are named after their program, those of nodes after the node too: ``kubelet-node-1.log``."""
    files = sorted(home.logs.glob("*.log"))
    if component is None:
        return files
    return [path for path in files if any(f"{path.stem}-".startswith(f"{name}-") for name in PROGRAMS[component])]


def _lines(path: Path) -> Iterator[str]:
    with os.fdopen(regular_files.open_descriptor(path, os.O_RDONLY), errors="replace") as file:
        yield from file
