"""The script between fork and exec of a node's process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drakit_kind.nodes import enter

pytestmark = pytest.mark.slow


def test_it_joins_the_groups_and_becomes_the_program(tmp_path: Path) -> None:
    entries = [tmp_path / name for name in ("cpu", "memory")]
    program = [sys.executable, "-c", "import os, sys; print(os.getpid(), sys.argv[1:])", "--", "a b"]
    command = [sys.executable, "-I", "-S", enter.__file__, *map(str, entries), "--", *program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate(timeout=20)
    assert output == f"{process.pid} ['--', 'a b']\n"
    assert [entry.read_text() for entry in entries] == ["0\n", "0\n"]  # 0 is whoever writes


def test_a_group_that_it_cannot_join_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", enter.__file__, str(tmp_path / "none/cgroup.procs"), "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode != 0
    assert "none/cgroup.procs" in done.stderr
