"""The ``drakit`` command, with all that its clusters keep in a directory of the test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_kind.testing.settings.options import OPTIONS
from tests.kind.drakit_command import Drakit, run


@pytest.fixture
def home() -> Iterator[Path]:
    """A short directory for the state of this test's clusters."""
    directory = Path(tempfile.mkdtemp(prefix="drakit-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest that the test starts loads what our suites need: all that is installed takes as long again."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "drakit_kind.pytest_plugin,pytest_timeout,xdist.plugin")
    for option in OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)


@pytest.fixture
def all_plugins(few_plugins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads those that are installed, as that of a user does."""
    for name in ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"):
        monkeypatch.delenv(name)


@pytest.fixture
def drakit(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drakit]:
    """Run the command with its state and kubeconfig below ``home``; whatever still runs in the end is taken down."""
    monkeypatch.setenv("DRAKIT_HOME", str(home / "state"))
    monkeypatch.setenv("KUBECONFIG", str(home / "config"))
    yield run
    for spec in home.glob("state/*/cluster.json"):
        run("cluster", "down", "--name", spec.parent.name)
