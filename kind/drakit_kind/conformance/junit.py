"""The JUnit XML of all runs in one file, each failure with its events and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from drakit_kind.conformance.records import STORY, Record
from drakit_kind.conformance.runs import Run

# What XML 1.0 cannot hold (its production ``Char``): logs have colours.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def merge(runs: Sequence[Run], files: Iterable[Path]) -> ElementTree.Element:
    """One element with the suites of all runs; ``files`` are what pytest wrote for each, where it came to that."""
    merged = ElementTree.Element("testsuites", name="drakit conformance")
    for run, file in zip(runs, files, strict=True):
        if file.exists():
            # Written by pytest a moment ago, in a directory of ours.
            suites = ElementTree.parse(file).getroot()  # noqa: S314
            _add_evidence(suites, run.records)
            merged.extend(suites)
    return merged


def _add_evidence(suites: ElementTree.Element, records: Iterable[Record]) -> None:
    """pytest writes what a test printed, at most; a story's pods, claims and logs are where viewers show output."""
    seen: Mapping[str, str] = {record.test: _text(record) for record in records if record.evidence}
    for case in suites.iter("testcase"):
        said = {each.get("name"): each.get("value") for each in case.iter("property")}
        if (text := seen.get(said.get(STORY) or "")) and case.find("system-out") is None:
            ElementTree.SubElement(case, "system-out").text = text


def _text(record: Record) -> str:
    parts = (f"---- {title} ----\n{text.rstrip()}\n" for title, text in record.evidence)
    return _NO_XML.sub(lambda found: f"#x{ord(found[0]):02X}", "\n".join(parts))
