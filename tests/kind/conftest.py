"""The ``drakit`` command, with all that its clusters keep in a directory of the test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kind.drakit_command import Drakit, run


@pytest.fixture
def home() -> Iterator[Path]:
    """A short directory for the state of this test's clusters."""
    directory = Path(tempfile.mkdtemp(prefix="drakit-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def drakit(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drakit]:
    """Run the command with its state and kubeconfig below ``home``; whatever still runs in the end is taken down."""
    monkeypatch.setenv("DRAKIT_HOME", str(home / "state"))
    monkeypatch.setenv("KUBECONFIG", str(home / "config"))
    yield run
    for spec in home.glob("state/*/cluster.json"):
        run("cluster", "down", "--name", spec.parent.name)
