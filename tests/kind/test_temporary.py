"""What removes a directory when nobody else is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from drakit_kind.temporary import _WATCHER

_SECONDS = 30
# A removal that others disturb, by what they write meanwhile: the first time, or every time.
_ONCE = """
import shutil
remove, disturbed = shutil.rmtree, [True]
shutil.rmtree = lambda *args, **how: disturbed.pop() if disturbed else remove(*args, **how)
"""
_ALWAYS = """
import itertools, shutil, time
shutil.rmtree = lambda *args, **how: None
time.monotonic = itertools.count(step=59).__next__
"""


def _watch(disturbed: str, directory: Path) -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", disturbed + _WATCHER, directory], check=True, timeout=_SECONDS)


def test_a_removal_that_was_disturbed_is_tried_again(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    (directory / "n").mkdir(parents=True)
    _watch(_ONCE, directory)
    assert not directory.exists()


def test_a_directory_that_cannot_be_removed_is_given_up(tmp_path: Path) -> None:
    _watch(_ALWAYS, tmp_path)
    assert tmp_path.exists()
