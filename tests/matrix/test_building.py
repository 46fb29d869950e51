"""What the rows of a run need is built before it, the newest version first, and nothing else is."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from drakit_kind.cluster import KUBERNETES_VERSION, ClusterError, ClusterSpec
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.kind.node_images import images
from e2e.matrix import __main__ as matrix
from e2e.matrix.rows import ROWS

_ALL = {program for programs in PROGRAMS.values() for program in programs}


class _Assets:
    def __init__(self, there: set[str]) -> None:
        self._there = there

    def find(self, program: str) -> str | None:
        return program if program in self._there else None


def _built(monkeypatch: pytest.MonkeyPatch, names: Sequence[str], there: set[str], *, combinations: bool) -> list[str]:
    commands = []

    def run(command: list[str], **_: Any) -> None:
        commands.append(command)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(matrix, "find_assets", lambda version: _Assets(there))
    matrix._build([row for row in ROWS if row.name in names], combinations=combinations)
    assert all(command[:-1] == [sys.executable, "-m", "drakit_kind", "kubernetes", "build"] for command in commands)
    return [command[-1] for command in commands]


@pytest.mark.parametrize(
    ("names", "versions"),
    [
        (["prioritized-list-1.36.3"], [KUBERNETES_VERSION, "1.36.3"]),
        (["kubelet-1.34.3"], [KUBERNETES_VERSION, "1.34.3"]),
        (["resource-health-1.37.1"], [KUBERNETES_VERSION]),
        ([], []),
    ],
)
def test_a_row_alone_needs_its_own_versions_and_the_newest(
    monkeypatch: pytest.MonkeyPatch, names: list[str], versions: list[str]
) -> None:
    assert _built(monkeypatch, names, set(), combinations=False) == versions
    assert _built(monkeypatch, names, _ALL, combinations=False) == []


def test_the_combinations_need_the_driver_of_kubernetes_tests_too(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [row.name for row in ROWS]
    assert _built(monkeypatch, everything, _ALL, combinations=True) == [KUBERNETES_VERSION]
    assert _built(monkeypatch, everything, {*_ALL, "dra-test-driver"}, combinations=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-v"], ["-q"]], ids=["as it is", "more words", "fewer words"])
def test_options_of_pytest_choose_the_rows_that_count(more: list[str]) -> None:
    chosen = [row.name for row in matrix._chosen(["-k", "prioritized-list-1.36.3 or upgrade", *more])]
    assert chosen == ["prioritized-list-1.36.3", "upgrade-1.36.3-1.37.1"]


@pytest.mark.slow
def test_options_that_pytest_does_not_know_choose_nothing() -> None:
    assert matrix._chosen(["--no-such-option"]) == []


def test_what_kind_lacks_is_why_its_rows_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def node_images(spec: ClusterSpec, image: str | None, report: object) -> None:
        asked.append(spec.version)
        if spec.version == "1.37.1":
            raise ClusterError("there is no debootstrap")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(matrix, "check_daemon", lambda: None)
    monkeypatch.setattr(images, "node_images", node_images)
    assert matrix._missing_for_kind() == "not run: there is no debootstrap"
    assert asked == ["1.36.3", "1.37.1"]
