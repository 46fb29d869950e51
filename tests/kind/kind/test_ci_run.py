"""`.ci/run` leaves out what this machine cannot run, and its summary says so; the stages here are stand-ins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_RUN = Path(__file__).parents[3] / ".ci" / "run"
_NOBODY = 65534
_SECONDS = 60


@pytest.fixture
def checkout() -> Iterator[Path]:
    """A source tree whose every stage does nothing, and which everybody may read."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        tree.chmod(0o755)
        (tree / ".ci").mkdir()
        shutil.copy(_RUN, tree / ".ci")
        programs = (".ci/machine", ".ci/install", ".ci/use-installed", "make")
        for program, text in {
            **dict.fromkeys(programs, ":"),
            ".ci/docker": 'echo "docker $*"; [ $1 = stop ] || exit 3',
        }.items():
            (tree / program).write_text(f"#!/bin/sh\n{text}\n")
            (tree / program).chmod(0o755)
        yield tree


def _run(checkout: Path, user: int | None) -> tuple[str, str]:
    """What it printed, and its summary."""
    environment = {**os.environ, "PATH": f"{checkout}:{os.environ['PATH']}", "HOME": str(checkout)}
    done = subprocess.run(
        [str(checkout / ".ci" / "run")], env=environment, user=user, capture_output=True, text=True, timeout=_SECONDS,
        check=True,
    )  # fmt: skip
    before, summary = done.stdout.split("=== all stages passed")
    return before, summary


def test_who_is_not_root_reads_what_was_not_tried(checkout: Path) -> None:
    _, summary = _run(checkout, _NOBODY if os.geteuid() == 0 else None)
    assert "machine    left out: only root can run real nodes" in summary
    assert "kind       left out: Docker cannot be had here" in summary


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_leaves_no_real_node_out(checkout: Path) -> None:
    _, summary = _run(checkout, None)
    assert re.search(r"machine +\d+ s\n", summary)


def test_the_daemon_is_had_and_given_back_in_the_name_of_the_run(checkout: Path) -> None:
    """Of two runs, the first to end must leave it to the other; see `.ci/docker`."""
    before, summary = _run(checkout, None)
    started, ended = (
        line.split() for text in (before, summary) for line in text.splitlines() if line.startswith("docker ")
    )
    assert (started[1], ended[1]) == ("start", "stop")
    assert started[2:] == ended[2:]
    assert started[3].isdigit()
