"""What one story showed in one run, as the recorder writes it and the page reads it: a JSON line each."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Outcome = Literal["passed", "failed", "skipped"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One story. ``reason`` is why it was skipped; ``details`` and ``evidence`` (titled texts) are of a failure."""

    test: str
    capability: str
    source: str
    outcome: Outcome
    seconds: float
    gates: list[str] = []
    reason: str = ""
    details: str = ""
    evidence: list[tuple[str, str]] = []

    @property
    def title(self) -> str:
        """The story's name as a sentence: ``e2e/test_tpu.py::test_two_pods_share[a]`` is ``two pods share [a]``."""
        name, bracket, case = self.test.rpartition("::")[2].partition("[")
        return name.removeprefix("test_").replace("_", " ") + (f" [{case}" if bracket else "")


def read(file: Path) -> list[Record]:
    """The records of one run; none if it ended before its first story."""
    if not file.exists():
        return []
    return [msgspec.json.decode(line, type=Record) for line in file.read_bytes().splitlines()]
