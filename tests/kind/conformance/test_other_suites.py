"""``drakit conformance`` with suites that end in other ways than ours: no way may look like success."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

# The command with another suite, whose directory is the first argument.
_COMMAND = """
import pathlib, sys
from drakit_kind.cli.drakit_command import main
from drakit_kind.conformance import runs

suite = pathlib.Path(sys.argv.pop(1))
runs.suite = lambda: suite
main()
"""
_BROKEN = "import warnings\nwarnings.warn('old')\n\ndef test_never(): pass\n"  # warnings are errors


def _run(
    directory: Path, stories: dict[str, str], *options: str, timeout: str = "20"
) -> subprocess.CompletedProcess[str]:
    """``timeout`` is what the user has for tests."""
    suite = directory / "with a space" / "e2e"
    suite.mkdir(parents=True)
    for name, text in stories.items():
        (suite / name).write_text(text)
    command = [sys.executable, "-P", "-c", _COMMAND, str(suite), "conformance", *options]
    environment = {**os.environ, "PYTEST_TIMEOUT": timeout}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=110, check=False, cwd=directory, env=environment
    )


def _suites(directory: Path) -> list[tuple[str | None, str | None]]:
    """Names and errors of the suites in the JUnit XML."""
    root = ElementTree.parse(directory / "conformance" / "junit.xml").getroot()
    return [(suite.get("name"), suite.get("errors")) for suite in root]


@pytest.mark.parametrize(
    ("stories", "options"),
    [
        ({"test_sound.py": "def test_it(): pass\n", "test_broken.py": _BROKEN}, ["--jobs", "2"]),
        ({"test_broken.py": _BROKEN}, ["--jobs", "2"]),
        ({"test_it.py": "import os\ndef test_one(): pass\ndef test_two(): os._exit(1)\n"}, ["--jobs", "1"]),
    ],
    ids=["one broken module", "all broken", "pytest is ended by a story"],
)
def test_a_run_that_fails_outside_of_its_stories_is_no_success(
    tmp_path: Path, stories: dict[str, str], options: list[str]
) -> None:
    ended = _run(tmp_path, stories, *options)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "pytest failed outside of any story" in ended.stdout
    assert "pytest failed outside of any story" in (tmp_path / "conformance" / "index.html").read_text()
    assert _suites(tmp_path)[-1] == ("embedded 1.37.1", "1")


def test_a_run_that_stops_at_its_first_failure_has_failed(tmp_path: Path) -> None:
    stories = {"test_it.py": "def test_one(): assert False\ndef test_two(): pass\n"}
    ended = _run(tmp_path, stories, "--jobs", "1", "--", "-x")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "embedded 1.37.1: 1 failed, 1 not run\n" in ended.stdout


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_lies_where_the_user_is_does_not_take_the_place_of_ours(tmp_path: Path, jobs: str) -> None:
    """Nor does the time that the user's own tests have."""
    (tmp_path / "e2e").mkdir()
    (tmp_path / "e2e" / "__init__.py").write_text("raise RuntimeError('the wrong one')\n")
    (tmp_path / "yaml.py").write_text("raise RuntimeError('the wrong one')\n")
    stories = {
        "__init__.py": "",
        "ledger.py": "",
        "test_it.py": "import time\nimport yaml\nimport e2e.ledger\n\ndef test_it(): time.sleep(0.3)\n",
    }
    ended = _run(tmp_path, stories, "--jobs", jobs, timeout="0.1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "embedded 1.37.1: 1 passed\n" in ended.stdout
