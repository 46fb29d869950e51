"""What the page of ``drakit conformance`` says, in this order: the verdict, figures, what is wrong, all the rest."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from drakit_kind.conformance import page
from drakit_kind.conformance.records import Outcome, Record
from drakit_kind.conformance.runs import Configuration, Run
from drakit_kind.conformance.verdict import Verdict, duration, groups, one_line

_DEAD = "driver gpu.example.com stopped answering: it publishes no ResourceSlice any more"


def _record(name: str, outcome: Outcome, reason: str = "", details: str = "") -> Record:
    return Record(
        test=f"t.py::test_{name}",
        capability="partitions",
        source="KEP-4815 (seed 004), KEP-5234",
        outcome=outcome,
        seconds=61.2,
        reason=reason,
        details=details,
    )


_FAILED = _record("a_pod_runs", "failed", reason="AssertionError: 1 of <2>\nassert 1 == 2", details="E  1 of <2>")
_LEFT = _record("hosts", "skipped", reason="needs two nodes")
_LATER = [_record(name, "unrun", reason=_DEAD) for name in ("later", "much_later")]
_PASSED = _record("it_works", "passed")


def _page(folder: Path, *runs: Run) -> str:
    file = folder / "index.html"
    page.write(file, runs, title="DRA conformance", command="drakit conformance", when=datetime(2026, 1, 2, tzinfo=UTC))
    return file.read_text()


def _text(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", part, flags=re.DOTALL)).split())


def test_the_verdict_comes_first_then_figures_then_what_is_wrong(tmp_path: Path) -> None:
    made = _page(tmp_path, Run(Configuration(), [_PASSED, _FAILED, _LEFT], "", None, 125.0))
    assert _text(made).startswith(
        "Failed: DRA conformance DRA conformance Failed 1 of 2 stories failed on embedded 1.37.1. "
        "1 passed 1 failed 1 left out 0 not run 2 min 5 s in all "
        "run on Kubernetes feature gates result duration embedded "
    )
    order = ["Failed", "in all", "What is wrong", "1 of <2>", "Capabilities", "every story"]
    places = [_text(made).index(part) for part in order]
    assert places == sorted(places)


def test_each_kep_is_a_link_and_seeds_are_not_mentioned(tmp_path: Path) -> None:
    made = _page(tmp_path, Run(Configuration(), [_PASSED]))
    for number in (4815, 5234):
        assert f'<a href="https://kep.k8s.io/{number}">KEP-{number}</a>' in made
    assert "seed" not in made


def test_a_failure_has_its_reason_in_one_line_and_the_rest_behind_it(tmp_path: Path) -> None:
    made = _page(tmp_path, Run(Configuration(), [_FAILED]))
    (summary,) = re.findall(r'<details class="failure"><summary>(.*?)</summary>', made, re.DOTALL)
    assert _text(summary) == "partitions: a pod runs 1 of <2>"
    assert "<pre>E  1 of &lt;2&gt;</pre>" in made


def test_what_was_not_run_is_counted_and_says_why(tmp_path: Path) -> None:
    run = Run(Configuration(kubeconfig=Path("k"), driver="gpu.example.com"), [_FAILED, *_LATER], _DEAD)
    made = _page(tmp_path, run)
    text = _text(made)
    assert text.startswith(f"Not judged: DRA conformance DRA conformance Not judged {_DEAD} ")
    assert "0 passed 1 failed 0 left out 2 not run" in text
    assert f"2 not run: {_DEAD} later much later" in text
    assert [cell.text for cell in page.rows([run])[0].cells] == ["0 of 1, 2 not run"]
    assert run.counted == "1 failed, 2 not run"


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    made = _page(tmp_path, Run(Configuration(), [_PASSED]))
    assert "default-src 'none'" in made
    assert not re.search(r"<script|<img|<link|url\(|src=", made)
    assert "prefers-color-scheme: dark" in made
    assert "@media print" in made


@pytest.mark.parametrize(
    ("runs", "kind", "text"),
    [
        ([Run(Configuration(), [_PASSED])], "passed", "The only story passed on embedded 1.37.1."),
        ([Run(Configuration(), [_PASSED])] * 2, "passed", "All 2 stories passed in 2 runs."),
        ([Run(Configuration(), [_PASSED, _FAILED])], "failed", "1 of 2 stories failed on embedded 1.37.1."),
        ([Run(Configuration(), [_FAILED], _DEAD), Run(Configuration(), [_PASSED])], "undecided", _DEAD),
        ([Run(Configuration(), [])], "undecided", "No story was run."),
    ],
)
def test_the_verdict_is_that_of_the_exit_status(runs: list[Run], kind: str, text: str) -> None:
    verdict = Verdict(runs)
    assert (verdict.kind, verdict.text) == (kind, text)


def test_reasons_that_are_alike_are_told_once_the_most_frequent_first() -> None:
    found = groups(Run(Configuration(), [_LEFT, _PASSED, *_LATER]))
    assert [(group.name, group.reason, len(group.titles)) for group in found] == [
        ("not run", _DEAD, 2),
        ("left out", "needs two nodes", 1),
    ]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("AssertionError: pool has 1 of 2\nassert 1 == 2", "pool has 1 of 2"),
        ("assert 1 == 2", "assert 1 == 2"),
        ("drakit_kind.clusters.api.WaitTimeout: pod user: not running", "WaitTimeout: pod user: not running"),
        ("Pod user was not Running after 120 s; its state:\nphase: Pending", "Pod user was not Running after 120 s"),
        ("Expected:\n1", "Expected:"),
        ("x" * 400, "x" * 300 + "…"),
        ("", ""),
    ],
)
def test_a_reason_is_one_line(message: str, line: str) -> None:
    assert one_line(message) == line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min"), (200, "3 min 20 s"), (3600, "1 h"), (3905, "1 h 5 min")],
)
def test_durations_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
