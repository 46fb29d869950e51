"""The JUnit XML of all runs in one file, each failure with its events and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree

from drakit_kind.conformance.records import STORY, Record
from drakit_kind.conformance.runs import Run

# Characters that XML 1.0 cannot hold (its production ``Char``), as logs with colours have.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def merge(runs: Iterable[Run]) -> ElementTree.Element:
    """Make one element of the suites of all runs, as pytest wrote them, where it came to that.

    A run without a judgement has a suite with an error that says why: who reads XML alone must not take it for success.
    """
    merged = ElementTree.Element("testsuites", name="drakit conformance")
    for run in runs:
        if run.junit is not None and run.junit.exists():
            # Written by pytest a moment ago, in a directory of ours.
            suites = ElementTree.parse(run.junit).getroot()  # noqa: S314
            _add_evidence(suites, run.records)
            merged.extend(suites)
        if run.problem:
            merged.append(_not_judged(run))
    return merged


def _not_judged(run: Run) -> ElementTree.Element:
    said = {"name": run.configuration.label, "tests": "1", "errors": "1", "failures": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", said)
    case = ElementTree.SubElement(suite, "testcase", classname="drakit.conformance", name="the run")
    ElementTree.SubElement(case, "error", message=_NO_XML.sub("", run.problem))
    return suite


def _add_evidence(suites: ElementTree.Element, records: Iterable[Record]) -> None:
    """Put a failed story's pods, claims and logs where viewers show output, unless pytest has written output there."""
    seen: Mapping[str, str] = {record.test: _text(record) for record in records if record.evidence}
    for case in suites.iter("testcase"):
        said = {each.get("name"): each.get("value") for each in case.iter("property")}
        if (text := seen.get(said.get(STORY) or "")) and case.find("system-out") is None:
            ElementTree.SubElement(case, "system-out").text = text


def _text(record: Record) -> str:
    parts = (f"---- {title} ----\n{text.rstrip()}\n" for title, text in record.evidence)
    return _NO_XML.sub(lambda found: f"#x{ord(found[0]):02X}", "\n".join(parts))
