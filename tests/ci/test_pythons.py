"""Which Pythons drakit promises, and how `.ci/pythons` comes by one."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PYTHONS = _ROOT / ".ci" / "pythons"
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]


def _minor(version: str) -> int:
    return int(version.removeprefix("3."))


def test_classifiers_are_all_from_the_oldest_that_is_required_to_the_newest_that_ci_runs() -> None:
    promised = [
        match[1] for name in _PROJECT["classifiers"] if (match := re.fullmatch(r".* :: Python :: (3\.\d+)", name))
    ]
    oldest = _PROJECT["requires-python"].removeprefix(">=")
    assert promised == [f"3.{minor}" for minor in range(_minor(oldest), _minor(promised[-1]) + 1)]
    assert (
        f"Python {oldest} or later ({promised[-1]} is the newest that is tested)" in (_ROOT / "README.md").read_text()
    )


@pytest.fixture
def interpreters(tmp_path: Path) -> Path:
    """A directory for PATH with stand-ins, before what the script itself needs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    return programs


def _stand_in(program: Path, says: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)


def _interpreter(interpreters: Path, version: str = "3.99") -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{interpreters}:{os.environ['PATH']}",
        "PYENV_ROOT": str(interpreters / "pyenv"),
        "DRAKIT_CACHE": str(interpreters / "cache"),
        "HOME": str(interpreters),
    }
    command = [str(_PYTHONS), "interpreter", version]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_an_interpreter_is_that_of_path_then_of_pyenv_then_of_the_cache(interpreters: Path) -> None:
    places = [
        interpreters / "python3.99",
        interpreters / "pyenv" / "versions" / "3.99.4" / "bin" / "python3.99",
        interpreters / "cache" / "pythons" / "3.99" / "usr" / "bin" / "python3.99",
    ]
    for place in places:
        _stand_in(place, "echo 3.99")
    for place in places:
        found = _interpreter(interpreters)
        assert found.stdout == f"{place}\n", found.stderr
        _stand_in(place, "exit 127")  # as a shim of pyenv does for a version that is not selected


@pytest.mark.slow
def test_an_interpreter_that_cannot_be_had_is_an_error(interpreters: Path) -> None:
    _stand_in(interpreters / "apt-get", "echo 'E: Unable to locate package python3.99-venv'; exit 100")
    _stand_in(interpreters / "dpkg-deb", ":")
    missing = _interpreter(interpreters)
    assert missing.returncode == 1
    assert "has python3.99-venv: E: Unable to locate package python3.99-venv" in missing.stderr
    assert missing.stdout == ""
