"""``drakit conformance`` as somebody's CI sees it: exit status, JUnit XML, and a page that explains what failed."""

from __future__ import annotations

import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
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
    runs = [Run(Configuration(version="1.36.3"), recorded), Run(Configuration(gates="A=false"), recorded[2:])]
    file = tmp_path / "index.html"
    page.write(file, runs, title="DRA <x>", command="drakit conformance", when=datetime(2026, 1, 2, tzinfo=UTC))
    text = file.read_text()
    assert "DRA &lt;x&gt;" in text
    assert "seen &lt;here&gt;" in text
    assert "<here>" not in text
    assert [cell.text for cell in page.rows(runs)[0].cells] == ["1 of 2, 1 left out", "1 of 1"]
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
    # Nothing goes where drakit is installed.
    assert (tmp_path / "conformance" / "run-1" / "cache").is_dir()
    assert not (runs.suite() / "conformance").exists()


def test_a_feature_that_is_off_is_not_judged(tmp_path: Path) -> None:
    gates = ("--feature-gates", "DRAPartitionableDevices=false")
    ended = _conformance("--jobs", "1", *gates, "--", "-k", "every_mig_profile", home=tmp_path)
    why = "needs feature gate DRAPartitionableDevices, which is off in Kubernetes 1.37 as it is configured here"
    assert (
        "embedded 1.37.1 DRAPartitionableDevices=false: 1 left out; every story was left out, the first because: "
        f"{why}\n"
    ) in ended.stdout
    assert [record.reason for record in read(tmp_path / "conformance" / "run-1" / "records.jsonl")] == [why]
    assert ended.returncode == 2


@pytest.mark.parametrize(
    ("options", "runs", "label"),
    [
        ((), 0, "embedded 1.37.1: no story was run"),
        (("--matrix",), 1, "embedded, gates and versions changed: 1 passed"),
    ],
)
def test_the_matrix_is_a_run_of_its_own_when_asked_for(
    tmp_path: Path, options: tuple[str, ...], runs: int, label: str
) -> None:
    ended = _conformance(*options, "--jobs", "1", "--", "-k", "mixins-flattened", home=tmp_path)
    assert label in ended.stdout
    assert ended.stdout.count("embedded") == runs + 2  # what is run, and what it showed
    assert ended.returncode == (0 if runs else 2)
    if runs:
        (record,) = read(tmp_path / "conformance" / "run-2" / "records.jsonl")
        assert (record.capability, record.title) == ("DRAResourceSliceMixins", "row [mixins-flattened-1.37.1]")
        assert record.source == "KEP-4815's alpha text (seed 004), KEP-5234"


def test_a_story_with_two_failures_is_one_failure_with_all_that_was_seen(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_TEARDOWNS)
    command = [sys.executable, "-m", "pytest", "-p", "drakit_kind.conformance.recorder", "--record", "out.jsonl"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=110, check=False)
    seen = {record.title: record for record in read(tmp_path / "out.jsonl")}
    assert {title: record.outcome for title, record in seen.items()} == {
        "passes": "failed",
        "fails": "failed",
        "is skipped": "failed",
        "is expected to fail": "skipped",
    }
    assert "the teardown fails" in seen["passes"].details
    assert "the test fails" in seen["fails"].details
    assert "the teardown fails" in seen["fails"].details
    assert seen["is expected to fail"].reason == "not yet: a part is missing"
    assert read(tmp_path / "none.jsonl") == []


_TEARDOWNS = """
import pytest

@pytest.fixture
def ends_badly():
    yield
    raise RuntimeError("the teardown fails")

def test_passes(ends_badly):
    pass

def test_fails(ends_badly):
    raise RuntimeError("the test fails")

def test_is_skipped(ends_badly):
    pytest.skip("why")

@pytest.mark.xfail(reason="not yet: a part is missing")
def test_is_expected_to_fail():
    assert False
"""


_INTERRUPTED = """
import os, pathlib, signal, time
import pytest

@pytest.fixture
def namespace():
    yield
    time.sleep(1)
    pathlib.Path("deleted").touch()

@pytest.mark.capability("sharing", source="KEP-4381")
def test_before():
    pass

@pytest.mark.capability("sharing", source="KEP-4381")
def test_in_which_it_is_interrupted(namespace):
    os.kill(os.getppid(), {number})
    signal.pause()
"""


# The command with another suite, whose directory is the first argument.
_OTHER_SUITE = """
import pathlib, sys
from drakit_kind.cli import main
from drakit_kind.conformance import runs

suite = pathlib.Path(sys.argv.pop(1))
runs.suite = lambda: suite
main()
"""


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_takes_away_what_it_made_and_tells_what_it_saw(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Whoever interrupts it: Ctrl-C, or a CI system that ends the job."""
    suite = tmp_path / "e2e"
    suite.mkdir()
    (suite / "test_it.py").write_text(_INTERRUPTED.replace("{number}", str(int(number))))
    command = [sys.executable, "-c", _OTHER_SUITE, str(suite), "conformance", "--jobs", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path)
    assert (tmp_path / "deleted").exists(), ended.stdout + ended.stderr
    assert ended.returncode == 130
    assert "embedded 1.37.1: 1 passed; interrupted" in ended.stdout
    assert "interrupted" in (tmp_path / "conformance" / "index.html").read_text()


def test_what_an_earlier_run_left_is_not_taken_for_this_one(tmp_path: Path) -> None:
    old = tmp_path / "conformance" / "run-1"
    old.mkdir(parents=True)
    (old / "junit.xml").write_text('<testsuites><testsuite name="old" tests="5"/></testsuites>')
    ended = _conformance("--jobs", "1", "--", "--no-such-option", home=tmp_path)
    assert ended.returncode == 2
    assert len(ElementTree.parse(tmp_path / "conformance" / "junit.xml").getroot()) == 0


@pytest.mark.parametrize(
    ("configuration", "jobs", "workers"),
    [
        (Configuration(), None, "auto"),
        (Configuration(), "3", "3"),
        (Configuration(backend="kind"), None, "0"),
        (Configuration(kubeconfig=Path("config"), driver="gpu.example.com"), None, "0"),
        (Configuration(matrix=True), None, "auto"),
        (Configuration(backend="binaries", matrix=True), None, "0"),
    ],
)
def test_stories_that_share_a_driver_are_told_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: Configuration, jobs: str | None, workers: str
) -> None:
    def started(command: Sequence[str]) -> int:
        assert command[command.index("-n") + 1] == workers
        return 5

    monkeypatch.setattr(runs, "_ended", started)
    assert runs.run(configuration, tmp_path / "run-1", jobs=jobs).problem == runs.NO_STORY


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
    for part in (".", "matrix"):
        assert {path.name for path in (installed / part).glob("*.py")} == {
            path.name for path in (tree / part).glob("*.py")
        }
    # Stories that read layouts find them beside the suite, as in the source tree.
    assert (installed.parent / "driver" / "examples" / "layouts" / "four-gpus.yaml").exists()
    assert (tmp_path / "installed" / "drakit_kind" / "conformance" / "page.html.jinja").exists()
    assert (tmp_path / "installed" / "drakit_kind" / "conformance" / "pytest.ini").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--driver", "a.example.com", "--cluster", "embedded"], "--driver and --kubeconfig judge one that runs"),
        (["--kubeconfig", "/dev/null", "--jobs", "4"], "a driver is judged by one story at a time"),
        (["--cluster", "kind", "--matrix"], "in kind, components cannot be changed one by one"),
        (["--", "-k", "no_such_story"], "no story was run"),
        (["--feature-gates", "DRAPartitionableDevices"], "missing bool value for DRAPartitionableDevices"),
    ],
)
def test_what_cannot_be_judged_ends_with_status_2(tmp_path: Path, arguments: list[str], says: str) -> None:
    ended = _conformance(*arguments, home=tmp_path)
    assert ended.returncode == 2, ended.stdout
    assert says in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
