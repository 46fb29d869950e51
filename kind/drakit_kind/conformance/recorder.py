"""A pytest plugin that writes down what each story showed: ``-p drakit_kind.conformance.recorder --record FILE``.

Workers of pytest-xdist send their reports to one process, which writes; what the markers say travels with the reports.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from drakit_kind.conformance.records import CHOSEN, STOPPED, STORY, Outcome, Record
from drakit_kind.testing.pod_endings import NO_ANSWER

_UNSORTED = "other"
_NO_CLUSTER = "no_cluster"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file for the records."""
    parser.addoption("--record", metavar="FILE", type=Path, help="write a JSON line for each story")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that sees all reports."""
    file = config.getoption("--record")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(file), "drakit-recorder")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which stories were chosen, in the one process that runs them or the first of several."""
    file, worker = session.config.getoption("--record"), getattr(session.config, "workerinput", {"workerid": "gw0"})
    if file is not None and session.items and worker["workerid"] == "gw0":
        lines = [msgspec.json.encode(_chosen(item)) + b"\n" for item in session.items]
        (file.parent / CHOSEN).write_bytes(b"".join(lines))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note why a judgement ended early."""
    file = session.config.getoption("--record")
    if file is not None and (why := session.config.stash.get(NO_ANSWER, "")):
        (file.parent / STOPPED).write_text(why)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each story's reports, and its JUnit entry, what its markers say; a conftest.py may have added some."""
    for item in items:
        item.user_properties.append((STORY, item.nodeid))
        marker = item.get_closest_marker("capability")
        if marker is not None:
            name, source, gates = _described(*marker.args, **marker.kwargs)
            item.user_properties += [("capability", name), ("source", source), ("gates", ",".join(gates))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note why a story could not begin whose cluster did not start: fixtures that are there are in its arguments."""
    report = yield
    wants = "cluster" in getattr(item, "fixturenames", ()) and "cluster" not in getattr(item, "funcargs", {})
    if report.failed and call.when == "setup" and call.excinfo is not None and wants:
        first, *log = str(call.excinfo.value).splitlines() or [call.excinfo.typename]
        report.user_properties.append((_NO_CLUSTER, " ".join([first, *(line.strip() for line in log[-1:])])))
    return report


def _described(name: str, source: str, gates: Sequence[str] = ()) -> tuple[str, str, Sequence[str]]:
    """Gates of the capability, not those that devices need with which it happens to be shown."""
    return name, source, gates


class Recorder:
    """Appends a record for the call of a story, and for each other phase in which something went wrong.

    What is written is there also if the run is killed; whoever reads makes one of what belongs together.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        file.write_bytes(b"")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record of a phase of a story that is over, if there is anything to say of it."""
        if report.when == "call" or report.outcome != "passed":
            line = msgspec.json.encode(_record(report))
            with self._file.open("ab") as file:
                file.write(line + b"\n")


def _chosen(item: pytest.Item) -> Record:
    said: dict[str, Any] = dict(item.user_properties)
    return Record(
        test=item.nodeid,
        capability=said.get("capability", _UNSORTED),
        source=said.get("source", ""),
        gates=[gate for gate in said.get("gates", "").split(",") if gate],
        outcome="unrun",
        seconds=0.0,
    )


def _record(report: pytest.TestReport) -> Record:
    said: dict[str, Any] = dict(report.user_properties)
    outcome: Outcome = report.outcome
    return Record(
        test=report.nodeid,
        capability=said.get("capability", _UNSORTED),
        source=said.get("source", ""),
        gates=[gate for gate in said.get("gates", "").split(",") if gate],
        outcome=outcome,
        seconds=report.duration,
        versions=said.get("versions", ""),
        phases=said.get("phases", ""),
        no_cluster=said.get(_NO_CLUSTER, ""),
        reason=_reason(report) if outcome == "skipped" else _crash(report) if outcome == "failed" else "",
        details=report.longreprtext if outcome == "failed" else "",
        evidence=[(title, text) for title, text in report.sections if text.strip()] if outcome == "failed" else [],
    )


def _crash(report: pytest.TestReport) -> str:
    """Return the message of the exception that ended a story; "" if pytest has none."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return "" if crash is None else str(crash.message)


def _reason(report: pytest.TestReport) -> str:
    if expected := getattr(report, "wasxfail", ""):
        return str(expected)
    if isinstance(report.longrepr, tuple):  # file, line, message
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return report.longreprtext
