"""What of drakit is on a machine: seen while it is there, and waited for until it is gone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

from drakit_kind.nodes.footprint import footprint, left_behind

SLEEPER = [sys.executable, "-c", "import time; time.sleep(1000)"]


def of(process: subprocess.Popen[bytes], found: frozenset[str] | list[str]) -> list[str]:
    return [line for line in found if line.startswith(f"process {process.pid} ")]


def test_processes_that_mention_the_clusters_directory_are_its_own(tmp_path: Path) -> None:
    with subprocess.Popen([*SLEEPER, f"--root-dir={tmp_path}/n/node-1"]) as own, subprocess.Popen(SLEEPER) as other:
        deadline = time.monotonic() + 20
        while not of(own, footprint(tmp_path)):  # between fork and exec it has our command line
            assert time.monotonic() < deadline
        assert not of(other, footprint(tmp_path))
        own.kill()
        other.kill()
        own.wait()
        assert not of(own, footprint(tmp_path))


def test_components_of_drakit_are_seen_without_knowing_where_they_are() -> None:
    with subprocess.Popen([*SLEEPER, "-m", "drakit_kind.host", "x"]) as host:
        deadline = time.monotonic() + 20
        while not of(host, footprint()):
            assert time.monotonic() < deadline
        host.kill()


def test_what_goes_away_in_time_is_not_left_behind(tmp_path: Path) -> None:
    before = footprint(tmp_path)
    with subprocess.Popen([*SLEEPER, str(tmp_path)]) as process:

        def end() -> None:
            process.kill()
            process.wait()

        assert of(process, left_behind(before, tmp_path, seconds=0.3))
        ending = threading.Timer(0.3, end)
        ending.start()
        assert not of(process, left_behind(before, tmp_path, seconds=20))
        ending.join()
