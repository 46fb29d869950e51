"""`.ci/lint` and `.ci/vet` check the scripts and the Go modules of a tree, and say what they cannot check."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_CI = Path(__file__).parents[2] / ".ci"
_SHELLCHECK = '#!/bin/sh\nprintf "shellcheck %s\\n" "$@"\n'
_GOFMT = '#!/bin/sh\nshift\nfor file in "$@"; do grep -l ugly "$file"; done\nexit 0\n'
_GO = '#!/bin/sh\necho "go $* in ${PWD##*/}"\n! grep -q wrong *.go\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A bare checkout with scripts, a module of ours and one of Kubernetes, and stand-ins for what checks them."""
    root = tmp_path / "tree"
    for name, text in {
        "script": "#!/bin/sh\n",
        "scripts/other": "#!/usr/bin/env bash\n",
        "program.py": "#!/usr/bin/env python3\n",
        ".venv/script": "#!/bin/sh\n",
        "module/go.mod": "module example.invalid\n",
        "module/main.go": "package main\n",
        "kind/kubernetes/1.0.0/go.mod": "module example.invalid\n",
        "kind/kubernetes/1.0.0/main.go": "package main // wrong\n",
        ".venv/bin/shellcheck": _SHELLCHECK,
        ".venv/bin/gofmt": _GOFMT,
        ".venv/bin/go": _GO,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for program in (root / ".venv/bin").iterdir():
        program.chmod(0o755)
    (root / ".ci").mkdir()
    shutil.copy(_CI / "lint", root / ".ci")
    shutil.copy(_CI / "vet", root / ".ci")
    return root


def _run(tree: Path, script: str, *arguments: str) -> tuple[int, list[str]]:
    """The script's status and the lines that it prints."""
    environment = {**os.environ, "PATH": f"{tree}/.venv/bin:/usr/bin:/bin"}
    done = subprocess.run(
        [tree / ".ci" / script, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_scripts_are_found_by_what_they_are(tree: Path) -> None:
    status, lines = _run(tree, "lint")
    assert status == 0
    assert set(lines) == {f"shellcheck {script}" for script in (".ci/lint", ".ci/vet", "script", "scripts/other")}


def test_sources_that_gofmt_would_change_are_named(tree: Path) -> None:
    (tree / "kind/kubernetes/1.0.0/main.go").write_text("package ugly\n")
    status, lines = _run(tree, "lint")
    assert (status, lines[-1]) == (1, "kind/kubernetes/1.0.0/main.go")


def test_modules_are_vetted_but_not_those_of_kubernetes_programs(tree: Path) -> None:
    assert _run(tree, "vet") == (0, ["go vet ./... in module"])


def test_modules_that_are_named_are_vetted(tree: Path) -> None:
    (tree / "kind/kubernetes/1.0.0/main.go").write_text("package main\n")
    assert _run(tree, "vet", "kind/kubernetes/1.0.0") == (0, ["go vet ./... in 1.0.0"])


def test_what_vet_finds_ends_it(tree: Path) -> None:
    (tree / "module/main.go").write_text("package wrong\n")
    assert _run(tree, "vet")[0] != 0


def test_what_is_missing_on_the_machine_is_named(tree: Path) -> None:
    for program in (tree / ".venv/bin").iterdir():
        program.unlink()
    if shutil.which("go", path="/usr/bin:/bin") or shutil.which("shellcheck", path="/usr/bin:/bin"):
        pytest.skip("this machine has them beside everything else")
    assert _run(tree, "lint") == (
        0,
        ["no shellcheck here: scripts are not checked", "no Go here: the format of Go sources is not checked"],
    )
    assert _run(tree, "vet") == (0, ["no Go here: Go sources are not vetted"])
