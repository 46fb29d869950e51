"""What one story showed in one run, as the recorder writes it and the page reads it: JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Outcome = Literal["passed", "failed", "skipped", "unrun"]
# pytest's words for outcomes, and those in reports.
NAMES: dict[Outcome, str] = {"passed": "passed", "failed": "failed", "skipped": "left out", "unrun": "not run"}
# The file of a run that has them.
RECORDS = "records.jsonl"
# Beside it: a record for each story that was chosen, before any was run.
CHOSEN = "chosen.jsonl"
# Beside it: why a judgement ended early, as the driver did not answer any more.
STOPPED = "stopped.txt"
# The property of a story's JUnit entry that says which record is the story's.
STORY = "story"
_BADNESS: dict[Outcome, int] = {"unrun": 0, "skipped": 1, "passed": 2, "failed": 3}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One story. ``reason`` is why it was skipped or not run, or the message of a failure.

    ``details`` and ``evidence`` (titled texts) are of a failure.

    ``versions`` and ``phases`` are of a story that says itself what it runs on, as rows of the matrix do: e.g. "1.36.3
    with 1.37.1", and what is changed while it runs. ``no_cluster`` is why the cluster did not start that it asked for.
    """

    test: str
    capability: str
    source: str
    outcome: Outcome
    seconds: float
    gates: list[str] = []
    versions: str = ""
    phases: str = ""
    reason: str = ""
    no_cluster: str = ""
    details: str = ""
    evidence: list[tuple[str, str]] = []

    @property
    def title(self) -> str:
        """The story's name as a sentence: ``e2e/test_tpu.py::test_two_pods_share[a]`` is ``two pods share [a]``."""
        name, bracket, case = self.test.rpartition("::")[2].partition("[")
        return name.removeprefix("test_").replace("_", " ") + (f" [{case}" if bracket else "")


def read(file: Path) -> list[Record]:
    """Read the records of one run: first one for each story that ran, then the stories that it did not reach."""
    stories: dict[str, Record] = {}
    for record in _lines(file):
        before = stories.get(record.test)
        stories[record.test] = record if before is None else _both(before, record)
    if not stories:
        return []
    unrun = (record for record in _lines(file.parent / CHOSEN) if record.test not in stories)
    return [*stories.values(), *unrun]


def _lines(file: Path) -> list[Record]:
    if not file.exists():
        return []
    return [msgspec.json.decode(line, type=Record) for line in file.read_bytes().splitlines()]


def _both(first: Record, second: Record) -> Record:
    """Merge the records of two phases of one story: the worse outcome, with all output."""
    return msgspec.structs.replace(
        first,
        outcome=max(first.outcome, second.outcome, key=_BADNESS.__getitem__),
        seconds=first.seconds + second.seconds,
        reason=first.reason or second.reason,
        details="\n\n".join(filter(None, (first.details, second.details))),
        evidence=[*first.evidence, *(each for each in second.evidence if each not in first.evidence)],
    )
