"""The list of Kubernetes' tests that are known to fail, and when a run of them is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from e2e.upstream import expectations, report
from e2e.upstream.expectations import Known
from e2e.upstream.runs import Outcome, State, file_name
from e2e.upstream.specs import Spec

COLUMNS = ("embedded", "embedded-real")
FAILS = Known("fails", "not yet")
UNSTABLE = Known("unstable", "a race of its own")


def outcome(state: State, name: str = "a test") -> Outcome:
    return Outcome(Spec(name, frozenset({"DRA"})), state, 1.0, "a message", Path("a.log"))


@pytest.mark.parametrize(
    ("state", "known", "good", "counted"),
    [
        pytest.param("passed", None, True, "1 passed", id="passes"),
        pytest.param("failed", FAILS, True, "1 failed as listed", id="fails as listed"),
        pytest.param("skipped", FAILS, True, "1 failed as listed", id="skips itself as listed"),
        pytest.param("failed", None, False, "1 failed without being listed", id="fails and is not listed"),
        pytest.param("skipped", None, False, "1 failed without being listed", id="skips itself and is not listed"),
        pytest.param("passed", FAILS, False, "1 passed though listed", id="passes though listed"),
        pytest.param("passed", UNSTABLE, True, "1 unstable", id="unstable passes"),
        pytest.param("failed", UNSTABLE, True, "1 unstable", id="unstable fails"),
    ],
)
def test_an_outcome_is_good_if_the_list_says_so(state: State, known: Known | None, good: bool, counted: str) -> None:
    listed = {"a test": known} if known else {}
    judgement = expectations.judge([outcome(state)], listed, ["a test"])
    assert judgement.is_good == good
    assert counted in report.summary(judgement)


def test_a_listed_name_of_no_test_is_an_error() -> None:
    judgement = expectations.judge([outcome("passed")], {"a tset": FAILS}, ["a test"])
    assert judgement.unknown_names == ["a tset"]
    assert not judgement.is_good


def test_what_is_listed_and_was_not_chosen_is_no_error() -> None:
    assert expectations.judge([outcome("passed")], {"another": FAILS}, ["a test", "another"]).is_good


def test_the_report_names_every_error_and_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [outcome("failed", "new failure"), outcome("passed", "mended"), outcome("failed", "old failure")]
    known = {"mended": FAILS, "old failure": FAILS, "misspelt": FAILS}
    report.print_report(expectations.judge(outcomes, known, [o.spec.name for o in outcomes]), "embedded", Path("logs"))
    shown = capsys.readouterr().out
    failed, passed = shown.split("ERROR: failed, and is not listed:")[1], shown.split("ERROR: passed, though listed")[1]
    assert "new failure\n      failed: a message\n      a.log" in failed
    assert "mended\n      listed because: not yet" in passed
    assert "failed, as listed, 1: not yet\n  failed  old failure\n" in shown
    assert "misspelt" in shown.split("ERROR: listed, and there is no test of this name")[1]
    assert shown.endswith(
        "embedded: 3 tests of Kubernetes: 0 passed, 1 failed as listed, 1 failed without being listed, "
        "1 passed though listed, 1 listed names of no test; logs are in logs\n"
    )


def test_the_list_is_read_by_columns(tmp_path: Path) -> None:
    path = tmp_path / "expected.yaml"
    path.write_text("[{reason: not\n yet, fails: [embedded], unstable: [embedded-real], tests: [one, two]}]")
    known = expectations.read(path, COLUMNS)
    assert known["embedded"] == dict.fromkeys(["one", "two"], FAILS)
    assert known["embedded-real"]["two"].expectation == "unstable"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{fails: [embedded], tests: [one]}]", "an entry has a reason"),
        ("[{reason: r, fails: [embedded]}]", "an entry has a reason, tests"),
        ("[{reason: r, tests: [one]}]", "it is of no column; name some of embedded, embedded-real"),
        ("[{reason: r, fails: [kind], tests: [one]}]", "column 'kind' is none of embedded, embedded-real"),
        ("[{reason: r, fails: [embedded], flaky: [], tests: [one]}]", "flaky is none of reason, tests, fails"),
        ("[{reason: r, fails: [embedded], tests: [one, one]}]", "'one' stands there twice"),
        (
            "[{reason: r, fails: [embedded], tests: [one]}, {reason: s, unstable: [embedded], tests: [one]}]",
            "entry 2: 'one' is listed for embedded already",
        ),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "expected.yaml"
    path.write_text(text)
    with pytest.raises(ClusterError, match=message):
        expectations.read(path, COLUMNS)


def test_a_test_has_a_log_whose_name_is_a_plain_one() -> None:
    assert file_name("[sig-node] [DRA] must ../../run 'a' pod") == "sig-node-DRA-must-run-a-pod"
    assert len(file_name("x " * 300)) <= 150
