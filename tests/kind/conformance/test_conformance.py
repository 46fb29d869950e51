"""``drakit conformance`` as somebody's CI sees it: exit status, JUnit XML, and a page that explains what failed."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hatchling.builders.wheel import WheelBuilder

from drakit_kind.cli.drakit_command import main
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.backends import BACKENDS
from drakit_kind.conformance import command, junit, page, preparation, runs
from drakit_kind.conformance.records import Outcome, Record, read
from drakit_kind.conformance.runs import Configuration, Run
from drakit_kind.kubernetes.assets import Assets
from drakit_kind.nodes import requirements
from e2e.matrix.__main__ import main as matrix

_SUITE = """
import pytest

# What a story shows, and what its devices need besides.
pytestmark = [
    pytest.mark.capability("sharing", source="KEP-4381", gates=["DRADeviceTaints"]),
    pytest.mark.needs_gates("DRAPartitionableDevices"),
]

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
def recorded(tmp_path: Path, few_plugins: None) -> list[Record]:
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def _recorded(capability: str, outcome: Outcome, versions: str) -> Record:
    return Record(
        test=f"test_row[{versions}]",
        capability=capability,
        source="KEP",
        outcome=outcome,
        seconds=1,
        versions=versions,
        phases="on → off",
    )


def test_a_page_tells_versions_of_the_matrix_apart(tmp_path: Path) -> None:
    """What failed on an older version is not hidden in the sum of all."""
    matrix = [
        _recorded("partitions", "passed", "1.37.1"),
        _recorded("partitions", "failed", "1.34.3"),
        _recorded("skew", "passed", "1.36.3 with 1.37.1"),
    ]
    seen = [Run(Configuration(), [_recorded("partitions", "passed", "")]), Run(Configuration(matrix=True), matrix)]
    file = tmp_path / "index.html"
    page.write(file, seen, title="DRA", command="drakit", when=datetime(2026, 1, 2, tzinfo=UTC))
    cells = _cells(file.read_text())
    of_runs = 3
    assert cells[of_runs : of_runs + 4] == [
        ["capability", "embedded 1.37.1", "embedded, gates and versions changed", "from", "feature gates"],
        ["1.34.3", "1.36.3 with 1.37.1", "1.37.1"],
        ["partitions", "1 of 1", "0 of 1", "", "1 of 1", "KEP", ""],
        ["skew", "", "", "1 of 1", "", "KEP", ""],
    ]
    assert ["partitions", "row [1.34.3]on → off", "failed", "1.0 s"] in cells


def _cells(page: str) -> list[list[str]]:
    """The texts of each line of the page's tables."""
    lines = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    texts = [re.findall(r"<t[hd].*?</t[hd]>", line, re.DOTALL) for line in lines]
    return [[re.sub(r"<[^>]*>", "", text).strip() for text in line] for line in texts]


@pytest.mark.parametrize(
    ("records", "problem", "passed"),
    [(["passed"], "", True), (["passed", "skipped"], "", True), (["failed"], "", False), ([], "", False),
     (["passed"], "pytest ended with status 2", False)],
)  # fmt: skip
def test_a_run_without_a_judgement_has_not_passed(records: list[str], problem: str, passed: bool) -> None:
    made = [Record(test="t", capability="c", source="s", outcome=each, seconds=1.0) for each in records]  # type: ignore[arg-type]
    assert Run(Configuration(), made, problem).passed is passed


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "options",
    [["--drakit-kind-image", "kindest/node:v1.36.3"], ["--drakit-kind-image=kindest/node:v1.36.3"]],
)
def test_a_run_in_kind_is_of_the_version_of_its_node_image(options: list[str]) -> None:
    """Whatever else pytest is told after ``--``, this one decides what the columns are called."""
    configurations = command._own("kind", (), ("", "A=true"), False, options)
    assert [each.label for each in configurations] == ["kind 1.36.3", "kind 1.36.3 A=true"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--kubernetes-dir", "DIRECTORY"]])
def test_missing_programs_are_told_once_and_not_by_each_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAKIT_KUBERNETES_DIR", raising=False)
    (tmp_path / "DIRECTORY").mkdir()
    ended = _conformance("--cluster", "binaries", "--", *options, home=tmp_path)
    assert ended.returncode == 2, ended.stdout
    assert "drakit kubernetes build 1.37.1" in ended.stderr
    assert ("DIRECTORY" in ended.stderr) is bool(options)
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("configuration", "root", "components"),
    [
        (Configuration(), False, "drakit's apiserver, controllers, scheduler, kubelet"),
        (Configuration(real="scheduler"), False, "Kubernetes' scheduler; drakit's apiserver, controllers, kubelet"),
        (Configuration(backend="binaries"), False, "Kubernetes' apiserver, controllers, scheduler; drakit's kubelet"),
        (Configuration(backend="binaries"), True, "Kubernetes' apiserver, controllers, scheduler, kubelet"),
        (Configuration(kubeconfig=Path("config"), driver="gpu.example.com"), True, ""),
    ],
)
def test_the_page_says_whose_components_were_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: Configuration, root: bool, components: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert configuration.components == components
    file = tmp_path / "index.html"
    page.write(file, [Run(configuration, [])], title="DRA", command="drakit", when=datetime(2026, 1, 2, tzinfo=UTC))
    assert (f"components: {components}" in html.unescape(file.read_text())) is bool(components)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.long
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
        assert (record.versions, record.phases) == ("1.37.1", "first → slices wiped")
        text = (tmp_path / "conformance" / "index.html").read_text()
        assert "<th>1.37.1</th>" in text
        assert "first → slices wiped" in text


@pytest.mark.slow
@pytest.mark.usefixtures("few_plugins")
def test_failures_bring_their_events_and_logs_into_the_junit_xml(tmp_path: Path) -> None:
    """Of an xml that some CI shows, and that any parser takes: logs have colours."""
    (tmp_path / "conftest.py").write_text(_EVIDENCE)
    (tmp_path / "test_it.py").write_text(_SUITE)
    command = [sys.executable, "-m", "pytest", "-o", "junit_family=xunit1", "--junit-xml", "junit.xml"]
    command += ["-p", "drakit_kind.conformance.recorder", "--record", "out.jsonl", "-n", "2"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=110, check=False)
    records = read(tmp_path / "out.jsonl")
    files = (tmp_path / "junit.xml", tmp_path / "none.xml")
    written = ElementTree.tostring(junit.merge(Run(Configuration(), records, junit=file) for file in files))
    cases = {case.get("name"): case.findtext("system-out") for case in ElementTree.fromstring(written).iter("testcase")}
    assert cases == {
        "test_what_holds": None,
        "test_what_cannot_be_seen_here": None,
        "test_what_does_not_hold[a<b]": (
            "---- pods, claims and events ----\nevent of user: #x1B[31mFailedScheduling\n\n"
            "---- Captured stdout call ----\nseen <here>\n"
        ),
    }


_EVIDENCE = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.sections.insert(0, ("pods, claims and events", "event of user: \\x1b[31mFailedScheduling"))
    return report
"""


@pytest.mark.slow
@pytest.mark.usefixtures("few_plugins")
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


_WITHOUT_CLUSTER = """
import pytest
from drakit_kind.cluster import ClusterError

@pytest.fixture(scope="session")
def cluster():
    raise ClusterError("cluster pytest: its log:\\n  starting\\n  no port is free")

@pytest.fixture
def api(cluster):
    pass

@pytest.fixture
def broken():
    raise RuntimeError("another matter")

def test_one(cluster):
    pass

def test_two(api):
    pass

def test_without():
    pass

def test_other(broken):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "status", "says"),
    [
        (
            "one or two",
            2,
            "2 failed; the cluster did not start: cluster pytest: its log: no port is free\nconformance/",
        ),
        ("one or without", 2, "1 passed, 1 failed; the cluster did not start: "),
        ("not two", 1, "1 passed, 2 failed\n"),
    ],
)
def test_a_cluster_that_does_not_start_is_no_failure_of_the_stories(
    tmp_path: Path, chosen: str, status: int, says: str
) -> None:
    """It is no judgement: page, XML and exit status say so."""
    suite = tmp_path / "e2e"
    suite.mkdir()
    (suite / "test_it.py").write_text(_WITHOUT_CLUSTER)
    command = [sys.executable, "-c", _OTHER_SUITE, str(suite), "conformance", "--jobs", "2", "--", "-k", chosen]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert f"embedded 1.37.1: {says}" in ended.stdout
    suites = ElementTree.parse(tmp_path / "conformance" / "junit.xml").getroot()
    reasons = [error.get("message", "") for error in suites[-1].iter("error")]
    assert any(reason.startswith("the cluster did not start: ") for reason in reasons) == (status == 2)


_INTERRUPTED = """
import os, pathlib, signal, time
import pytest

@pytest.fixture
def namespace():
    yield
    time.sleep({ends_after})
    pathlib.Path("deleted").touch()

@pytest.mark.capability("sharing", source="KEP-4381")
def test_before():
    pass

@pytest.mark.capability("sharing", source="KEP-4381")
def test_in_which_it_is_interrupted(namespace):
    while not pathlib.Path("conformance/run-1/records.jsonl").read_text():
        time.sleep(0.01)
    os.kill(int(os.environ["INTERRUPTED"]), {number})
    signal.pause()
"""


# The command with another suite, whose directory is the first argument.
_OTHER_SUITE = """
import os, pathlib, sys
from drakit_kind.cli.drakit_command import main
from drakit_kind.cluster import ClusterError
from drakit_kind.conformance import runs

os.environ["INTERRUPTED"] = str(os.getpid())
suite = pathlib.Path(sys.argv.pop(1))
runs.suite = lambda: suite
main()
"""


# By itself, pytest-xdist interrupts what its workers are still doing after five seconds.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize(
    ("number", "jobs", "ends_after"),
    [(signal.SIGINT, 1, 1), (signal.SIGTERM, 1, 1), (signal.SIGHUP, 1, 1), (signal.SIGINT, 2, 6)],
)
def test_an_interrupted_run_takes_away_what_it_made_and_tells_what_it_saw(
    tmp_path: Path, number: signal.Signals, jobs: int, ends_after: int
) -> None:
    """Whoever interrupts it: Ctrl-C, or a CI system that ends the job."""
    suite = tmp_path / "e2e"
    suite.mkdir()
    story = _INTERRUPTED.replace("{number}", str(int(number))).replace("{ends_after}", str(ends_after))
    (suite / "test_it.py").write_text(story)
    command = [sys.executable, "-c", _OTHER_SUITE, str(suite), "conformance", "--jobs", str(jobs)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path)
    assert (tmp_path / "deleted").exists(), ended.stdout + ended.stderr
    assert ended.returncode == 130
    assert "embedded 1.37.1: 1 passed, 1 not run; interrupted" in ended.stdout
    assert "interrupted" in (tmp_path / "conformance" / "index.html").read_text()


_NEVER_GONE = """
import os, pathlib, signal

def test_in_which_it_is_interrupted(api, cluster):
    pathlib.Path("cluster").write_text(str(cluster.kubeconfig.parent))
    request = {"name": "any", "exactly": {"deviceClassName": "any"}}
    metadata = {"name": "kept", "finalizers": ["example.com/kept"]}
    spec = {"devices": {"requests": [request]}}
    api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec})
    os.kill(int(os.environ["INTERRUPTED"]), signal.SIGINT)
    signal.pause()
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_run_does_not_wait_for_what_may_never_go(tmp_path: Path, jobs: int) -> None:
    """A namespace stays while anything in it does, e.g. a pod whose driver was ended first."""
    suite = tmp_path / "e2e"
    suite.mkdir()
    (suite / "test_it.py").write_text(_NEVER_GONE)
    command = [sys.executable, "-c", _OTHER_SUITE, str(suite), "conformance", "--jobs", str(jobs)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False, cwd=tmp_path)
    assert ended.returncode == 130, ended.stdout + ended.stderr
    assert not Path((tmp_path / "cluster").read_text()).exists()


@pytest.mark.slow
def test_what_else_is_installed_does_not_change_the_judgement(tmp_path: Path) -> None:
    """pytest loads all plugins that it finds, and some change the order, repeat tests, or warn, which is an error."""
    found = tmp_path / "site" / "meddler-1.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: meddler\nVersion: 1\n")
    (found / "entry_points.txt").write_text("[pytest11]\nmeddler = meddler\n")
    (tmp_path / "site" / "meddler.py").write_text("def pytest_collection_modifyitems(items): items.clear()\n")
    suite = tmp_path / "e2e"
    suite.mkdir()
    (suite / "test_it.py").write_text("def test_it(cluster_spec): pass\n")
    for jobs, meddles in (("1", False), ("2", False), ("2", True)):
        options = ["--jobs", jobs, *(["--", "-p", "meddler"] if meddles else [])]
        ended = subprocess.run(
            [sys.executable, "-c", _OTHER_SUITE, str(suite), "conformance", *options],
            capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTEST_ADDOPTS": "-p meddler"},
        )  # fmt: skip
        assert ended.returncode == (2 if meddles else 0), ended.stdout + ended.stderr
        assert ("no story was run" in ended.stdout) == meddles


@pytest.mark.slow
def test_what_an_earlier_run_left_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """Nor is a run that could not be done taken for one in which nothing failed."""
    old = tmp_path / "conformance" / "run-1"
    old.mkdir(parents=True)
    (old / "junit.xml").write_text('<testsuites><testsuite name="old" tests="5"/></testsuites>')
    ended = _conformance("--jobs", "1", "--", "--no-such-option", home=tmp_path)
    assert ended.returncode == 2
    (suite,) = ElementTree.parse(tmp_path / "conformance" / "junit.xml").getroot()
    assert (suite.get("name"), suite.get("tests"), suite.get("errors")) == ("embedded 1.37.1", "1", "1")
    assert [error.get("message") for error in suite.iter("error")] == [
        "pytest ended with status 4; what it says stands above"
    ]


def test_a_call_that_runs_nothing_leaves_no_results_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else is in the directory is the user's."""
    monkeypatch.chdir(tmp_path)
    earlier = ["index.html", "junit.xml", "run-1/records.jsonl", "run-1/logs/a.txt", "run-7/records.jsonl"]
    theirs = ["README.md", "run-2/notes.txt", "run-2.old/records.jsonl", "records.jsonl"]
    for name in earlier + theirs:
        file = tmp_path / "conformance" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert CliRunner().invoke(main, ["conformance", "--real", "x"]).exit_code == 2  # click's own refusal
    assert CliRunner().invoke(main, ["conformance", "--cluster", "kind", "--matrix"]).exit_code == 2
    left = {str(path.relative_to(tmp_path / "conformance")) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(theirs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "error", "status", "says"),
    [
        ("preparation.prepare", KeyboardInterrupt(), 130, "interrupted"),
        ("page.write", KeyboardInterrupt(), 130, "interrupted"),
        ("page.write", PermissionError(13, "Permission denied", "index.html"), 2, "index.html: Permission denied"),
    ],
)
def test_what_goes_wrong_beside_the_stories_is_not_said_to_be_one_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, error: BaseException, status: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "_ended", lambda command: 5)
    monkeypatch.setattr(f"drakit_kind.conformance.{broken}", Mock(side_effect=error))
    ended = CliRunner().invoke(main, ["conformance"])
    assert ended.exit_code == status, ended.output
    assert says in ended.output


def test_what_the_user_says_to_pytest_keeps_a_run_what_it_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In somebody else's cluster, the rest of the suite is never run; a version that is emulated is in the label."""
    (own,) = command._own("embedded", (), (), False, ["--drakit-emulated-version=1.34"])
    assert own.label == "embedded 1.37.1 as 1.34"
    for extra, chosen in [
        ([], "any_driver"),
        (["-m", "not long"], "any_driver and (not long)"),
        (["-m", "x", "-mlong or x"], "any_driver and (long or x)"),
        (["-k", "pool", "-m=long"], "any_driver and (long)"),
    ]:
        started = Mock(return_value=5)
        monkeypatch.setattr(runs, "_ended", started)
        runs.run(Configuration(kubeconfig=Path("config"), driver="d"), tmp_path / "run-1", extra=extra)
        assert started.call_args.args[0][-2:] == ["-m", chosen]


@pytest.mark.parametrize(
    ("configuration", "jobs", "workers"),
    [
        (Configuration(), None, "3"),
        (Configuration(), 5, "5"),
        (Configuration(backend="binaries"), None, "6"),
        (Configuration(backend="kind"), None, "6"),
        (Configuration(backend="kind"), 1, "0"),
        (Configuration(kubeconfig=Path("config"), driver="gpu.example.com"), None, "0"),
        (Configuration(matrix=True), None, "2"),
        (Configuration(backend="binaries", matrix=True), None, "2"),
    ],
)
def test_as_many_stories_at_a_time_as_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: Configuration, jobs: int | None, workers: str
) -> None:
    """Here on two cores."""

    def started(command: Sequence[str]) -> int:
        assert command[command.index("-n") + 1] == workers
        return 5

    monkeypatch.setattr(runs, "_ended", started)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert runs.run(configuration, tmp_path / "run-1", jobs=jobs).problem == runs.NO_STORY


def test_conformance_tells_as_many_at_a_time_as_make() -> None:
    makefile = (runs.suite().parent / "Makefile").read_text()
    of_make = re.findall(r"^E2E_JOBS_(\w+) := \$\(shell expr \$\(CORES\) \\?(.) (\d+)\)$", makefile, re.MULTILINE)
    cores = len(os.sched_getaffinity(0))
    count = {backend: cores + int(n) if sign == "+" else cores * int(n) for backend, sign, n in of_make}
    assert count == {backend: Configuration(backend=backend).at_once for backend in BACKENDS}
    (rows,) = (option for option in matrix.params if option.name == "jobs")
    assert rows.default == str(Configuration(matrix=True).at_once)


@pytest.mark.slow
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
        (["--cluster", "kind", "--matrix"], "--cluster binaries tells them with the same programs"),
        (
            ["--cluster", "kind", "--kubernetes-version", "1.37.1", "--", "--kind-image", "kindest/node:v1.36.3"],
            "--kubernetes-version 1.37.1: kindest/node:v1.36.3 is 1.36.3; one run for each image",
        ),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--", "--cluster", "kind"], "--drakit-cluster after --: say it before, with --cluster of drakit conformance"),
        (["--", "--cluster-kubeconfig=config"], "with --kubeconfig of drakit conformance"),
        (["--", "-k", "pool", "--junitxml", "mine.xml"], "--junitxml after --: say it before, with --output of"),
        (["--feature-gates", "DRAPartitionableDevices"], "missing bool value for DRAPartitionableDevices"),
        (["--feature-gates", "NoSuch=true"], "unrecognized feature gate: NoSuch"),
        (["--feature-gates", "needed", "--kubernetes-version", "1.33.0"], "1.33"),
        (["--kubernetes-version", "1.33.0"], "1.33"),
        (["--kubernetes-version", "foo"], "Kubernetes version 'foo': write it as 1.37.1"),
        (["--", "--emulated-version", "1.38"], "1.38"),
        (
            ["--", "--kind-image", "x"],
            "--drakit-kind-image after --: it is of kind clusters; add --cluster kind before --",
        ),
        (["--cluster", "binaries", "--", "--kind-bin=x"], "--drakit-kind-bin after --: it is of kind clusters"),
        (["--", "--kubernetes-dir", "."], "--drakit-kubernetes-dir: all components are drakit's own"),
        (
            ["--kubeconfig", "/dev/null", "--", "--real=scheduler"],
            "--drakit-real after --: it is for clusters that are started",
        ),
        (
            ["--driver", "x", "--", "--kind-image", "x"],
            "--drakit-kind-image after --: it is for clusters that are started here",
        ),
        (["--", "--real", "apiserver"], "a real API server needs real controllers"),
        (["--cluster", "kind", "--", "--real", "scheduler"], "in kind, only the scheduler can be drakit's"),
    ],
)
def test_what_cannot_be_judged_ends_with_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    """And says the same on a machine where nothing was built: that could not be judged with any program."""
    monkeypatch.setattr(Assets, "find", lambda assets, name: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "_ended", Mock(side_effect=AssertionError("a run began")))
    monkeypatch.setattr(preparation, "_make_images", Mock(side_effect=AssertionError("images are made")))
    ended = CliRunner().invoke(main, ["conformance", *arguments])
    assert ended.exit_code == 2, ended.output
    assert isinstance(ended.exception, SystemExit)
    assert says in ended.output


@pytest.mark.parametrize(
    ("missing", "options", "says"),
    [
        ("pytest_kind", [], "pytest-kind is not installed: pip install '.[kind]' in drakit's directory"),
        ("", ["--drakit-kind-bin", "nowhere/kind"], "--drakit-kind-bin nowhere/kind: there is no program of this name"),
    ],
)
def test_what_a_cluster_in_kind_needs_is_looked_for_before_images_are_made(
    monkeypatch: pytest.MonkeyPatch, missing: str, options: list[str], says: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else name)
    monkeypatch.setattr(preparation, "_make_images", Mock(side_effect=AssertionError("images are made")))
    with pytest.raises(ClusterError, match=re.escape(says)):
        preparation.prepare(Configuration(backend="kind"), options, Mock())


@pytest.fixture
def lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Root on a machine without mounts and cgroups, with a build of all versions but 1.34.3."""
    built = tmp_path / "kube-apiserver"
    monkeypatch.setattr(Assets, "find", lambda assets, name: None if assets.version == "1.34.3" else built)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    refusal = Mock(side_effect=ClusterError("this machine lacks what real nodes need"))
    monkeypatch.setattr(requirements, "check_machine", refusal)
    monkeypatch.setenv("DRAKIT_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.slow
@pytest.mark.parametrize("matrix", [False, True])
def test_what_real_nodes_need_of_the_machine_is_looked_for_before_the_stories(lacking: Path, matrix: bool) -> None:
    with pytest.raises(ClusterError, match="this machine lacks what real nodes need"):
        preparation.prepare(Configuration(backend="binaries", matrix=matrix), ["-k", "mixins"], Mock())
    preparation.prepare(Configuration(backend="binaries", matrix=matrix, real="scheduler"), ["-k", "mixins"], Mock())
    preparation.prepare(Configuration(matrix=matrix), [], Mock())
    assert list(lacking.iterdir()) == []


_ROWS = "matrix/test_matrix.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [[], ["--deselect=x"], ["--ignore=x"], ["--lf"], [f"{runs.suite()}/{_ROWS}::test_row[mixins-1.37.1]"]]
)
def test_programs_of_all_rows_of_the_matrix_are_looked_for_before_the_first(lacking: Path, options: list[str]) -> None:
    """Also with options that choose nothing: pytest adds what is named to the rows."""
    rows = Configuration(backend="binaries", matrix=True, real="scheduler")
    with pytest.raises(ClusterError, match=r"no kube-scheduler of Kubernetes 1\.34\.3; `drakit kubernetes build 1\.34"):
        preparation.prepare(rows, options, Mock())


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen", [["-k", "1.36.3"], ["-k1.37.1", "-vv", "-n3"], ["-mlong"], [f"--deselect={_ROWS}"], ["--no-such-option"]]
)
def test_programs_of_rows_that_are_not_chosen_are_not_looked_for(lacking: Path, chosen: list[str]) -> None:
    preparation.prepare(Configuration(backend="binaries", matrix=True, real="scheduler"), chosen, Mock())


@pytest.mark.slow
def test_a_machine_is_ready_for_the_rows_that_are_chosen_with_programs_of_their_version(
    lacking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = lacking.parent / "kube-apiserver"
    monkeypatch.setattr(Assets, "find", lambda assets, name: built if assets.version == "1.36.3" else None)
    asked = Mock()
    monkeypatch.setattr(requirements, "check_machine", asked)
    rows = Configuration(backend="binaries", matrix=True)
    preparation.prepare(rows, ["-k", "prioritized-list-1.36.3"], Mock())
    assert asked.call_args.args[0].version == "1.36.3"
    with pytest.raises(ClusterError, match=r"^row upgrade-1\.36\.3-1\.37\.1: there is no .* of Kubernetes 1\.37\.1; "):
        preparation.prepare(rows, ["-k", "upgrade"], Mock())
