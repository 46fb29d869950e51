"""The guard: it outlives the process that it guards by just so much as it needs to undo what that left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drakit_kind.nodes import leftovers
from drakit_kind.nodes.guard import Guard
from drakit_kind.nodes.leftovers import Journal
from tests.kind.waits import ended, gone

pytestmark = pytest.mark.slow

SUPERVISOR = """\
import os, signal, sys
from pathlib import Path
from drakit_kind.nodes import leftovers
from drakit_kind.nodes.guard import Guard
from drakit_kind.nodes.leftovers import Journal
home = Path(sys.argv[1])
journal = Journal.create(home, home / "records")
guard = Guard(journal.path, home / "guard.log")
guard.start()
leftovers.make_directory(journal, home / "made")
print(guard._process.pid, flush=True)
os.kill(os.getpid(), signal.{signal})
signal.pause()
"""


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_what_a_killed_process_has_done_is_undone(tmp_path: Path, how: str) -> None:
    text = SUPERVISOR.format(signal=how)
    with subprocess.Popen(
        [sys.executable, "-c", text, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        guard = int(process.stdout.readline())
    assert gone(tmp_path / "records", seconds=20)
    assert not (tmp_path / "made").exists()
    assert ended(guard, seconds=20)
    assert "undid everything" in (tmp_path / "guard.log").read_text()


async def test_it_ends_with_a_cluster_that_stops_in_order(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, tmp_path / "records")
    guard = Guard(journal.path, tmp_path / "guard.log")
    guard.start()
    process = guard._process
    assert process is not None
    journal.undo()
    await guard.stop()
    assert process.returncode == 0
    assert (tmp_path / "guard.log").read_text() == ""


def test_signals_to_the_terminal_or_the_session_are_not_for_it(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, tmp_path / "records")
    leftovers.make_directory(journal, tmp_path / "made")
    journal.close()
    command = [sys.executable, "-m", "drakit_kind.nodes.guard", str(journal.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        ignored = Path(f"/proc/{process.pid}/status")
        deadline = time.monotonic() + 20
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        mask = sum(1 << (number - 1) for number in numbers)
        while int(ignored.read_text().split("SigIgn:\t")[1].split()[0], 16) & mask != mask:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for number in numbers:
            os.kill(process.pid, number)
        assert (tmp_path / "made").is_dir()
        process.communicate(timeout=20)  # closes its input
    assert process.returncode == 0
    assert not (tmp_path / "made").exists()
