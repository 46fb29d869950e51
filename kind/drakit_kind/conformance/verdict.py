"""What a page says first: did it pass, how many stories, and in one line each why not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from drakit_kind.conformance.records import NAMES, Outcome, Record
from drakit_kind.conformance.runs import Run

_MODULE = re.compile(r"^(?:[a-z_]\w*\.)+(?=[A-Z]\w*: )")
_MOST = 300  # characters of a reason; the rest is in the details


class Figure(NamedTuple):
    """How many stories of one outcome there are."""

    outcome: Outcome
    name: str
    stories: int


class Group(NamedTuple):
    """Stories that were left out, or not run, for one reason."""

    name: str
    reason: str
    titles: list[str]


@dataclass(frozen=True)
class Verdict:
    """The sum of all runs."""

    runs: Sequence[Run]

    @property
    def kind(self) -> Literal["passed", "failed", "undecided"]:
        """As the exit status of the command: 0, 1, or 2."""
        if any(run.problem for run in self.runs) or not self._records:
            return "undecided"
        return "passed" if all(run.passed for run in self.runs) else "failed"

    @property
    def title(self) -> str:
        """The verdict in one word or two."""
        return {"passed": "Passed", "failed": "Failed", "undecided": "Not judged"}[self.kind]

    @property
    def text(self) -> str:
        """The verdict in one sentence."""
        done = [one for one in self._records if one.outcome in ("passed", "failed")]
        failed = sum(one.outcome == "failed" for one in done)
        of = f"{len(done)} {'story' if len(done) == 1 else 'stories'}"
        on = f" on {self.runs[0].configuration.label}" if len(self.runs) == 1 else f" in {len(self.runs)} runs"
        problems = list(dict.fromkeys(run.problem for run in self.runs if run.problem))
        if problems:
            return "; ".join(problems)
        if not done:
            return "No story was run."
        if failed:
            return f"{failed} of {of} failed{on}."
        return f"The only story passed{on}." if len(done) == 1 else f"All {of} passed{on}."

    @property
    def figures(self) -> list[Figure]:
        """Of each outcome, those that did not occur too."""
        outcomes = [record.outcome for record in self._records]
        return [Figure(outcome, name, outcomes.count(outcome)) for outcome, name in NAMES.items()]

    @property
    def seconds(self) -> float:
        """By the clock, of all runs one after the other."""
        return sum(run.seconds for run in self.runs)

    @property
    def _records(self) -> list[Record]:
        return [record for run in self.runs for record in run.records]


def groups(run: Run) -> list[Group]:
    """Return why stories were left out or not run, the most frequent reasons first."""
    found: dict[tuple[Outcome, str], list[str]] = {}
    for record in run.records:
        if record.outcome in ("skipped", "unrun"):
            found.setdefault((record.outcome, record.reason), []).append(record.title)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [Group(NAMES[outcome], reason, titles) for (outcome, reason), titles in ordered]


def one_line(text: str) -> str:
    """Shorten a message to its first line, without parts that tell a reader nothing.

    It drops the module of an exception, the word AssertionError, and words that introduce the next lines.
    """
    first = _MODULE.sub("", text.strip().partition("\n")[0]).removeprefix("AssertionError: ")
    if first.endswith(":"):
        first = first.rpartition("; ")[0] or first
    return first if len(first) <= _MOST else f"{first[:_MOST]}…"


def duration(seconds: float) -> str:
    """Write a duration as ``12 s``, ``3 min 20 s`` or ``1 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
