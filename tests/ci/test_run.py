"""`.ci/run` begins with the README's commands, and says what this machine cannot run; its stages are stand-ins here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
_NOBODY = 65534
_SECONDS = 60
_TOO_LATE = "kind +left out: 0 minutes have gone, it is started in the first 0 only"


@pytest.fixture
def checkout() -> Iterator[Path]:
    """A source tree whose every stage does nothing, and which everybody may use."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        tree.chmod(0o777)
        (tree / ".ci").mkdir()
        shutil.copy(_ROOT / ".ci" / "run", tree / ".ci")
        for program in (
            ".ci/fresh",
            ".ci/machine",
            ".ci/install",
            ".ci/use-installed",
            ".ci/helm",
            ".ci/pythons",
            "make",
        ):
            _stand_in(tree / program, ":")
        _stand_in(tree / ".ci/docker", 'echo "docker $*"; [ $1 = stop ] || exit 3')
        yield tree


def _stand_in(program: Path, text: str) -> None:
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def _run(checkout: Path, user: int | None, **variables: str) -> tuple[str, str]:
    """What it printed, and its summary."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith("DRAKIT_") and name != "CI"}
    environment = {**theirs, "PATH": f"{checkout}:{os.environ['PATH']}", "HOME": str(checkout), **variables}
    if user is not None:
        environment["TMPDIR"] = str(checkout)  # ours may be closed to others
    done = subprocess.run(
        [str(checkout / ".ci" / "run")], env=environment, user=user, capture_output=True, text=True, timeout=_SECONDS,
        check=True,
    )  # fmt: skip
    before, summary = done.stdout.split("=== all stages passed")
    return before, summary


def test_the_two_commands_of_the_readme_come_first_as_a_stranger_runs_them(checkout: Path) -> None:
    commands = re.search(r"## Two commands\n.*?```\n(.*?)```", (_ROOT / "README.md").read_text(), re.DOTALL)
    assert commands is not None
    promised = [line.partition("#")[0].strip() for line in commands[1].splitlines()]
    _stand_in(checkout / ".ci/fresh", 'shift; echo "a stranger: $*"')
    before, _ = _run(checkout, None)
    assert promised == re.findall(r"^a stranger: (.*)$", before, re.MULTILINE)
    stages = re.findall(r"^=== (\w+): (?!done)", before, re.MULTILINE)
    assert stages[:3] == ["e2e", "test", "setup"]


def test_each_stage_is_in_the_summary_with_its_time(checkout: Path) -> None:
    before, summary = _run(checkout, None)
    begun = re.findall(r"^=== (\w+): (?!done)", before, re.MULTILINE)
    assert {"e2e", "test", "kubernetes", "attacks", "binaries", "pythons"} <= set(begun)
    assert set(begun) <= set(re.findall(r"^ +(\w+) +\d+ s", summary, re.MULTILINE))


def test_in_ci_nothing_may_be_left_out(checkout: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _run(checkout, None, CI="true")
    assert re.search(r"=== left out, though CI has to run all: (machine )?kind\n", failed.value.stdout)
    assert "all stages passed" not in failed.value.stdout
    _stand_in(checkout / ".ci/docker", ":")
    if os.geteuid() == 0:
        _run(checkout, None, CI="true")


def test_who_is_not_root_reads_what_was_not_tried(checkout: Path) -> None:
    nobody = _NOBODY if os.geteuid() == 0 else None
    before, summary = _run(checkout, nobody)
    assert "machine    left out: only root can run real nodes" in summary
    assert "kind       left out: its images are made by root, or of a $DRAKIT_DEBIAN_ROOT" in summary
    assert "docker start" not in before
    _, summary = _run(checkout, nobody, DRAKIT_DEBIAN_ROOT="/debian")
    assert "kind       left out: Docker cannot be had here" in summary


@pytest.mark.parametrize(
    ("seconds", "images", "says"),
    [
        ("60", ":", r"kind +\d+ s\n"),
        ("1", "exec sleep 60", _TOO_LATE),
        ("0", "exit 1", _TOO_LATE),
    ],
    ids=["in time", "images take too long", "too late for images"],
)
def test_kind_is_told_while_there_is_time_and_nobody_waits_for_its_images_after_that(
    checkout: Path, seconds: str, images: str, says: str
) -> None:
    _stand_in(checkout / ".ci/docker", 'echo "docker $*"')
    _stand_in(checkout / "make", f"case $1 in ready-kind) {images} ;; esac")
    _, summary = _run(checkout, None, DRAKIT_KIND_BEFORE=seconds, DRAKIT_DEBIAN_ROOT="/debian")
    assert re.search(says, summary), summary
    assert ("killed" in summary) == (says != _TOO_LATE)


def test_images_that_cannot_be_made_in_time_fail_the_run(checkout: Path) -> None:
    _stand_in(checkout / ".ci/docker", ":")
    _stand_in(checkout / "make", "case $1 in ready-kind) exit 1 ;; esac")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _run(checkout, None, DRAKIT_DEBIAN_ROOT="/debian")
    assert "=== images FAILED" in failed.value.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_leaves_no_real_node_out(checkout: Path) -> None:
    _, summary = _run(checkout, None)
    assert re.search(r"machine +\d+ s\n", summary)
    assert re.search(r"nodes +\d+ s\n", summary)


def test_the_daemon_is_had_and_given_back_in_the_name_of_the_run(checkout: Path) -> None:
    """Of two runs, the first to end must leave it to the other; see `.ci/docker`."""
    before, summary = _run(checkout, None, DRAKIT_DEBIAN_ROOT="/debian")
    started, ended = (
        line.split() for text in (before, summary) for line in text.splitlines() if line.startswith("docker ")
    )
    assert (started[1], ended[1]) == ("start", "stop")
    assert started[2:] == ended[2:]
    assert started[3].isdigit()
