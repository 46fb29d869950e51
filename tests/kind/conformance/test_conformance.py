"""``drakit conformance`` as somebody's CI sees it: exit status, JUnit XML, and a page that explains what failed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hatchling.builders.wheel import WheelBuilder

from drakit_kind.conformance import page, runs
from drakit_kind.conformance.records import Record, read
from drakit_kind.conformance.runs import Configuration, Run

_SUITE = """
import pytest

pytestmark = pytest.mark.capability("sharing", source="KEP-4381", gates=["DRADeviceTaints"])

def test_what_holds():
    pass

@pytest.mark.parametrize("case", ["a<b"])
def test_what_does_not_hold(case):
    print("seen <here>")
    assert case == "b"

def test_what_cannot_be_seen_here():
    pytest.skip("needs two nodes")
"""


def _conformance(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drakit_kind", "conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, cwd=home)


@pytest.fixture
def recorded(tmp_path: Path) -> list[Record]:
    """What the recorder writes of the suite above."""
    (tmp_path / "test_it.py").write_text(_SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "drakit_kind.conformance.recorder",
        "--record",
        "out.jsonl",
        "-n",
        "2",
    ]
    status = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=110, check=False).returncode
    assert status == 1
    return sorted(read(tmp_path / "out.jsonl"), key=lambda record: record.test)


def test_every_story_is_recorded_with_what_its_marker_says(recorded: list[Record]) -> None:
    assert [(record.title, record.outcome) for record in recorded] == [
        ("what cannot be seen here", "skipped"),
        ("what does not hold [a<b]", "failed"),
        ("what holds", "passed"),
    ]
    assert {(record.capability, record.source, *record.gates) for record in recorded} == {
        ("sharing", "KEP-4381", "DRADeviceTaints")
    }
    skipped, failed, passed = recorded
    assert skipped.reason == "needs two nodes"
    assert "assert 'a<b' == 'b'" in failed.details
    assert dict(failed.evidence)["Captured stdout call"] == "seen <here>\n"
    assert (passed.details, passed.evidence) == ("", [])


def test_the_page_shows_failures_with_their_evidence_and_escapes_it(tmp_path: Path, recorded: list[Record]) -> None:
    runs = [Run(Configuration(version="1.36.3"), recorded), Run(Configuration(gates={"A": False}), recorded[2:])]
    file = tmp_path / "index.html"
    page.write(file, runs, title="DRA <x>", command="drakit conformance", when=datetime(2026, 1, 2, tzinfo=UTC))
    text = file.read_text()
    assert "DRA &lt;x&gt;" in text
    assert "seen &lt;here&gt;" in text
    assert "<here>" not in text
    assert [cell.text for cell in page.rows(runs)[0].cells] == ["1 of 2, 1 not run", "1 of 1"]
    assert [cell.verdict for cell in page.rows(runs)[0].cells] == ["failed", "passed"]
    assert "embedded 1.36.3" in text
    assert "embedded 1.37.1 A=false" in text


@pytest.mark.parametrize(
    ("records", "problem", "passed"),
    [(["passed"], "", True), (["passed", "skipped"], "", True), (["failed"], "", False), ([], "", False),
     (["passed"], "pytest ended with status 2", False)],
)  # fmt: skip
def test_a_run_without_a_judgement_has_not_passed(records: list[str], problem: str, passed: bool) -> None:
    made = [Record(test="t", capability="c", source="s", outcome=each, seconds=1.0) for each in records]  # type: ignore[arg-type]
    assert Run(Configuration(), made, problem).passed is passed


def test_stories_that_pass_end_with_status_0_and_leave_both_files(tmp_path: Path) -> None:
    ended = _conformance("--jobs", "1", "--", "-k", "bad_claim_is_refused", home=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "embedded 1.37.1: 7 passed" in ended.stdout
    suites = ElementTree.parse(tmp_path / "conformance" / "junit.xml").getroot()
    assert [suite.get("tests") for suite in suites] == ["7"]
    assert {suite.get("name") for suite in suites} == {"embedded 1.37.1"}
    assert "errors where their user looks" in (tmp_path / "conformance" / "index.html").read_text()


def test_a_feature_that_is_off_is_not_judged(tmp_path: Path) -> None:
    gates = ("--feature-gates", "DRAPartitionableDevices=false")
    ended = _conformance("--jobs", "1", *gates, "--", "-k", "every_mig_profile", home=tmp_path)
    assert "embedded 1.37.1 DRAPartitionableDevices=false: 1 skipped" in ended.stdout
    reasons = [record.reason for record in read(tmp_path / "conformance" / "run-1" / "records.jsonl")]
    assert reasons == [
        "needs feature gate DRAPartitionableDevices, which is off in Kubernetes 1.37 as it is configured here"
    ]


def test_a_wheel_has_the_suite_where_an_installed_drakit_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = runs.suite()
    [wheel] = WheelBuilder(str(tree.parent)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    monkeypatch.setattr(runs, "_HERE", tmp_path / "installed" / "drakit_kind" / "conformance")
    installed = runs.suite()
    assert installed.is_relative_to(tmp_path)
    assert {path.name for path in installed.glob("*.py")} == {path.name for path in tree.glob("*.py")}
    # Stories that read layouts find them beside the suite, as in the source tree.
    assert (installed.parent / "driver" / "examples" / "layouts" / "four-gpus.yaml").exists()
    assert (tmp_path / "installed" / "drakit_kind" / "conformance" / "page.html.jinja").exists()
    assert (tmp_path / "installed" / "drakit_kind" / "conformance" / "pytest.ini").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--driver", "a.example.com", "--cluster", "embedded"], "--driver and --kubeconfig judge one that runs"),
        (["--", "-k", "no_such_story"], "no story was run"),
        (["--feature-gates", "DRAPartitionableDevices"], "missing bool value for DRAPartitionableDevices"),
    ],
)
def test_what_cannot_be_judged_ends_with_status_2(tmp_path: Path, arguments: list[str], says: str) -> None:
    ended = _conformance("--jobs", "1", *arguments, home=tmp_path)
    assert ended.returncode == 2, ended.stdout
    assert says in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
