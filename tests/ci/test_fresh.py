"""`.ci/fresh` runs a command as somebody who has nothing of drakit's: no caches, no Go, no settings."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_FRESH = Path(__file__).parents[2] / ".ci" / "fresh"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose only commit has the script and one file."""
    tree = tmp_path / "repository"
    (tree / ".ci").mkdir(parents=True)
    shutil.copy(_FRESH, tree / ".ci")
    (tree / "file").write_text("committed\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *command], cwd=tree, check=True, timeout=60)
    return tree


def _fresh(repository: Path, command: str, **variables: str) -> str:
    """What a shell command prints there."""
    fresh = [str(repository / ".ci" / "fresh"), str(repository.parent / "fresh"), "sh", "-c", command]
    done = subprocess.run(
        fresh, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_it_is_a_clone_in_which_the_first_command_leaves_something_for_the_second(repository: Path) -> None:
    (repository / "file").write_text("not committed\n")
    assert _fresh(repository, "cat file; touch made; git status --porcelain") == "committed\n?? made\n"
    assert _fresh(repository, "ls") == "file\nmade\n"
    assert not (repository / "made").exists()


def test_caches_are_empty_and_no_setting_of_drakit_is_heard(repository: Path) -> None:
    shown = _fresh(
        repository,
        'ls -A "$XDG_CACHE_HOME" "$DRAKIT_CACHE" 2>/dev/null; echo "$DRAKIT_CACHE"; env | grep -c DRAKIT_',
        DRAKIT_CACHE="/filled",
        DRAKIT_KUBERNETES_DIR="/built",
    ).splitlines()
    assert shown[0] == f"{repository.parent}/fresh/cache:"
    assert shown[-2:] == [f"{repository.parent}/fresh/cache/drakit", "1"]


def test_there_is_no_go_and_what_lies_beside_it_stays(repository: Path) -> None:
    programs = repository.parent / "programs"
    programs.mkdir()
    for name in ("go", "gofmt", "beside"):
        (programs / name).write_text("#!/bin/sh\necho $0\n")
        (programs / name).chmod(0o755)
    command = "command -v go gofmt; beside >/dev/null && echo there"
    assert _fresh(repository, command, PATH=f"{programs}:{os.environ['PATH']}") == "there\n"
