"""The page of the compatibility matrix says what the runs showed, and nothing that they did not."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from e2e.matrix import __main__ as matrix
from e2e.matrix import table
from e2e.matrix.revision import revision as revision_of
from e2e.matrix.row import Change, NotYet, Phase, Row
from e2e.matrix.rows import ROWS
from e2e.matrix.stage import Stage
from e2e.matrix.table import Making, Outcome, Shown

_DOCS = Path(__file__).parents[2] / "docs"
_XML = """<testsuites><testsuite>
<testcase name="test_row[first-1.36.3]" time="4.6"><properties><property name="kubelet" value="real" /></properties>
</testcase>
<testcase name="test_row[second]" time="31"><skipped type="pytest.xfail" message="not yet: nobody does it" /></testcase>
<testcase name="test_row[third]" time="0"><skipped type="pytest.skip" message="a gate of drakit's own" /></testcase>
<testcase name="test_row[fourth]" time="2"><failure message="AssertionError" /></testcase>
<testcase name="test_row[fifth]" time="2"><error message="no cluster" /></testcase>
<testcase name="test_row[sixth]" time="3"><skipped type="pytest.xfail" message="not yet: nobody does it" />
<error message="the cluster does not stop" /></testcase>
</testsuite></testsuites>"""

_OUTCOMES = {"embedded", "kind", "outcome"}  # heads of the first column of such
_MAKING = Making(day=date(2026, 1, 2), seconds=150, revision="b5f9757 + changes")


def _story(stage: Stage) -> Iterator[None]:
    yield


def _row(name: str, **fields: object) -> Row:
    off = Change(component="scheduler", gates={"DRAThing": False})
    phases = [Phase(name="on"), Phase(name="scheduler off", changes=[off])]
    return Row(name=name, feature="DRAThing", source="KEP-1", story=_story, phases=phases, **fields)  # type: ignore[arg-type]


def test_outcomes_are_read_by_the_names_of_rows(tmp_path: Path) -> None:
    (tmp_path / "run.xml").write_text(_XML)
    assert table.read(tmp_path / "run.xml") == {
        "first-1.36.3": Outcome("passed", 4.6, kubelet="real"),
        "second": Outcome("not yet", 31, "not yet: nobody does it"),
        "third": Outcome("not run", 0, "a gate of drakit's own"),
        "fourth": Outcome("failed", 2),
        "fifth": Outcome("failed", 2),
        "sixth": Outcome("failed", 3),
    }
    assert table.read(tmp_path / "none.xml") == {}


def test_a_page_has_each_row_with_its_cluster_and_its_outcomes() -> None:
    rows = [
        _row("first", versions={"kubelet": "1.34.3"}),
        _row("second", emulated_version="1.36", not_yet=NotYet(reason="nobody does it", phase="on", message="")),
        _row("third", ours=frozenset({"scheduler"})),
    ]
    runs = {
        "embedded": {"first": Outcome("passed", 3), "second": Outcome("not yet", 1, f"not yet: {rows[1].not_yet}")},
        "binaries": {"first": Outcome("passed", 40, kubelet="real")},
    }
    in_kind = {"second": Outcome("passed", 95, kubelet="real")}
    combinations = {"ours, ours, simulated, ours": Outcome("failed", 5)}
    judged = {"embedded": Outcome("failed", 9), "binaries": Outcome("passed", 30)}
    shown = Shown(rows=runs, in_kind=in_kind, combinations=combinations, judged=judged)
    lines = table.page(rows, shown, _MAKING).splitlines()
    assert "- embedded: 1 passed, 1 not yet, 0 min" in lines
    assert "Minutes are those of the rows, added up; by default two run at once." in lines
    assert "## DRAThing" in lines
    assert "Phases: on → scheduler off" in lines
    assert "Source: KEP-1" in lines
    assert "| first | 1.37.1, kubelet 1.34.3 | passed, 3 s | passed, 40 s, real kubelet |" in lines
    assert "| second | 1.37.1 emulating 1.36 | not yet: nobody does it | not run |" in lines
    assert "| third | 1.37.1, scheduler always drakit's | not run | not run |" in lines
    assert "- some in kind: 1 passed, 2 min" in lines
    assert "| second | 1.37.1 emulating 1.36 | passed, 95 s, real kubelet |" in lines
    assert "| ours | ours | simulated | ours | **failed** |" in lines
    assert "- judgements of Kubernetes' driver: 1 passed, 1 failed, 1 min" in lines
    assert "| embedded | **failed** |" in lines


@pytest.mark.parametrize(
    ("revision", "said"),
    [("b5f9757 + changes", "`make e2e-matrix` of b5f9757 + changes on"), (None, "`make e2e-matrix` on")],
)
def test_a_page_says_what_it_was_made_of_and_how_long_that_took(revision: str | None, said: str) -> None:
    page = table.page([], Shown(), replace(_MAKING, revision=revision))
    assert f"Made by {said} 2026-01-02 in 2.5 minutes; one row alone:" in page


def test_each_seed_that_is_a_source_is_in_the_list_that_the_page_links() -> None:
    page = table.page(ROWS, Shown(), _MAKING)
    assert "(architecture.md#seeds)" in page
    _, _, seeds = (_DOCS / "architecture.md").read_text(encoding="utf-8").partition("\n## Seeds\n")
    named = {
        number for row in ROWS for text in re.findall(r"seeds? ([\d, ]+)", row.source) for number in text.split(", ")
    }
    assert named
    assert {number for number in named if f"| {number} |" not in seeds} == set()


def test_the_page_in_docs_is_of_the_rows_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes rows, phases or combinations runs the whole of it: what the page shows must have been seen."""
    monkeypatch.setattr(matrix, "_RESULTS", tmp_path)
    of_these = table.page(ROWS, matrix._shown("not run: there is no Docker"), _MAKING)
    committed = (_DOCS / "compatibility.md").read_text(encoding="utf-8")
    assert list(_without_outcomes(committed)) == list(_without_outcomes(of_these))


def _without_outcomes(page: str) -> Iterator[str]:
    columns = 0
    for line in page.splitlines():
        cells = line.strip("| ").split(" | ")
        if line.startswith("| "):
            columns = columns or next(number for number, head in enumerate(cells) if head in _OUTCOMES)
            yield " | ".join(cells[:columns])
        elif not re.match(r"Made by |- .*: .*\d min$", line):
            columns = 0
            yield line


def test_rows_have_names_of_their_own_and_stay_together_by_feature() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    features = [row.feature for row in ROWS]
    headings = [feature for index, feature in enumerate(features) if index == 0 or features[index - 1] != feature]
    assert len(set(headings)) == len(headings)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_a_revision_is_a_commit_with_its_changes_or_nothing(tmp_path: Path) -> None:
    assert revision_of(tmp_path) is None
    _git(tmp_path, "init", "--quiet")
    assert revision_of(tmp_path) is None
    (tmp_path / "file").write_text("first")
    _git(tmp_path, "add", "file")
    _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "first")
    commit = revision_of(tmp_path)
    assert commit is not None
    assert re.fullmatch("[0-9a-f]{7,}", commit)
    (tmp_path / "file").write_text("second")
    assert revision_of(tmp_path) == f"{commit} + changes"


def _git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(directory), *arguments], check=True)
