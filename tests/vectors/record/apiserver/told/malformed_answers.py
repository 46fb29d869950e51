"""What a real server and ours answer to malformed input, side by side.

The same stories of ``tests.vectors.malformed`` are told to both. What counts is whether a malformed request is taken.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from tests.vectors.malformed import stories
from tests.vectors.record.apiserver.ours import beside
from tests.vectors.record.apiserver.servers import running
from tests.vectors.recordings import Vector
from tests.vectors.stories import hooks, judging
from tests.vectors.stories.playing import NO_ANSWER, Player, Told

# Seconds for which a story waits, and for which an answer may take.
_PATIENCE, _BOUND = 40.0, 90.0
_AT_ONCE = 6
_REFUSED, _FAILED = 300, 500
# What is deep is compared one level after the other.
_LEVELS = 100_000
# What ours refuses on purpose (docs/apiserver.md).
_KNOWN = ("drakit's API server reads 256 levels", "may hold 200,000 values")
# How wide the first column of the table is.
_NAMES = 20
_WORDS = {"causes", "message", "warnings"}
_CONFLICT, _READ_VERSION = 409, ".metadata.resourceVersion}"


class Answers(NamedTuple):
    """What both servers have answered to one step of a story."""

    story: Vector
    number: int
    theirs: Vector
    ours: Vector
    # How long ours took.
    seconds: float

    @property
    def step(self) -> Vector:
        """The step itself."""
        found: Vector = self.story["steps"][self.number]
        return found

    def differences(self) -> list[str]:
        """Name what differs; nothing if ours refuses on purpose."""
        if any(known in str(self.ours.get("message")) for known in _KNOWN):
            return []
        if self._is_conflict(self.theirs) and not self._is_conflict(self.ours):
            # A controller of the real server has written after the object was read, so nothing else was looked at.
            return ["conflict"]
        if _is_taken(self.theirs) != _is_taken(self.ours):
            return ["ours takes alone" if _is_taken(self.ours) else "ours refuses alone"]
        return judging.differences(self.theirs, self.ours)

    def _is_conflict(self, answer: Vector) -> bool:
        """Whether an object that was replaced in the version that had just been read was none of that version."""
        return bool(answer["code"] == _CONFLICT) and _READ_VERSION in str(self.step)

    def shown(self) -> Vector:
        """Show it all, if it differs."""
        where = {"story": self.story["name"], "step": self.number, "what": self.differences()}
        return {**where, "asked": self.step, "theirs": self.theirs, "ours": self.ours}


def _is_taken(answer: Vector) -> bool:
    return bool(NO_ANSWER < answer["code"] < _REFUSED)


@dataclass
class Counts:
    """How many malformed inputs of a kind were answered how, and how long our slowest answer took, in seconds."""

    asked: int = 0
    both_refuse: int = 0
    both_take: int = 0
    ours_takes_alone: int = 0
    ours_refuses_alone: int = 0
    # Of those that both refuse or both take.
    other_code: int = 0
    other_object: int = 0
    other_words: int = 0
    # Codes of 500 and more, and where there is no answer; ``alone`` where theirs has none.
    fails_ours: int = 0
    fails_theirs: int = 0
    fails_ours_alone: int = 0
    slowest: float = 0.0

    def add(self, answers: Answers) -> None:
        """Count the answers to one input."""
        found = answers.differences()
        failed, own_failed = _is_failure(answers.theirs), _is_failure(answers.ours)
        self.asked += 1
        self.ours_takes_alone += "ours takes alone" in found
        self.ours_refuses_alone += "ours refuses alone" in found
        self.both_take += _is_taken(answers.theirs) and _is_taken(answers.ours)
        self.both_refuse += not (_is_taken(answers.theirs) or _is_taken(answers.ours))
        self.other_code += "code" in found
        self.other_object += "object" in found
        self.other_words += bool(_WORDS.intersection(found)) and "code" not in found
        self.fails_theirs += failed
        self.fails_ours += own_failed
        self.fails_ours_alone += own_failed and not failed
        self.slowest = max(self.slowest, answers.seconds)


def _is_failure(answer: Vector) -> bool:
    return bool(answer["code"] >= _FAILED or answer["code"] == NO_ANSWER)


@dataclass
class Comparison:
    """What has come out so far."""

    counts: dict[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    # A line for each answer that differs, to malformed input or after it.
    different: list[Vector] = field(default_factory=list)
    # How many answers differ in what follows malformed input, and where one server has not come to the same end.
    effects: int = 0
    lost: list[str] = field(default_factory=list)
    log: str = ""

    def add(self, story: Vector, answers: Iterable[Answers], *, is_lost: bool) -> None:
        """Count the answers to a story."""
        if is_lost:
            self.lost.append(story["name"])
        for each in answers:
            found = each.differences()
            if "asked" in each.step:
                self.counts[each.step["asked"]].add(each)
            else:
                self.effects += bool(found)
            if found:
                self.different.append(each.shown())

    @property
    def inputs(self) -> int:
        """How many malformed inputs were asked."""
        return sum(each.asked for each in self.counts.values())

    @property
    def tracebacks(self) -> int:
        """How often our server has logged an error of its own."""
        return self.log.count("Traceback (most recent call last)")

    @property
    def is_harmful(self) -> bool:
        """Whether ours has taken what the real server refuses, or has failed alone."""
        alone = sum(each.ours_takes_alone + each.fails_ours_alone for each in self.counts.values())
        return bool(alone or self.tracebacks or self.lost)

    def table(self) -> str:
        """Show all counts by kind, and what else there is to say."""
        kinds = sorted(self.counts)
        width = max(map(len, kinds), default=0) + 2
        lines = [" " * _NAMES + "".join(kind.rjust(width) for kind in kinds) + "all".rjust(width)]
        for each in fields(Counts):
            values = [getattr(self.counts[kind], each.name) for kind in kinds]
            together = max(values, default=0.0) if each.name == "slowest" else sum(values)
            shown = (f"{value:.2f} s" if isinstance(value, float) else f"{value:,}" for value in (*values, together))
            lines.append(each.name.replace("_", " ").ljust(_NAMES) + "".join(value.rjust(width) for value in shown))
        lines.append(f"{self.effects} answers to what came after malformed input differ; tracebacks: {self.tracebacks}")
        lines += [f"told to its end by one server only: {name}" for name in self.lost]
        return "\n".join(lines)


async def compared(
    told: stories.Enough | stories.Chosen, version: str, progress: Callable[[Comparison], None] = lambda _: None
) -> Comparison:
    """Tell stories to both servers; ``progress`` is told after each.

    A story that differs in more than words is told once more, and then that counts: a real server has its caches and
    controllers, which come to know things at their own pace.
    """
    sys.setrecursionlimit(_LEVELS)
    found = Comparison()
    async with _players(version) as (players, log):
        waiting = iter(told)

        async def tell() -> None:
            for story in waiting:
                answers, is_lost = await _told(players, story)
                if is_lost or any(set(each.differences()) - _WORDS for each in answers):
                    answers, is_lost = await _told(players, stories.again(story))
                found.add(story, answers, is_lost=is_lost)
                told.was_asked(story["kind"], sum("asked" in each.step for each in answers))
                progress(found)

        await asyncio.gather(*(tell() for _ in range(_AT_ONCE)))
        found.log = log.read_text()
    return found


async def _told(players: tuple[Player, Player], story: Vector) -> tuple[list[Answers], bool]:
    theirs, ours = await asyncio.gather(*(player.told(story, _BOUND) for player in players))
    return list(_paired(story, theirs, ours)), any(
        (real.answer is None) != (own.answer is None) for real, own in zip(theirs, ours, strict=True)
    )


def _paired(story: Vector, theirs: list[Told], ours: list[Told]) -> Iterator[Answers]:
    for number, (real, own) in enumerate(zip(theirs, ours, strict=True)):
        if real.answer is not None and own.answer is not None and not story["steps"][number].get("cleanup"):
            yield Answers(story, number, real.answer, own.answer, own.seconds)


@asynccontextmanager
async def _players(version: str) -> AsyncIterator[tuple[tuple[Player, Player], Path]]:
    """The real server's, and ours with its log."""
    async with running("default", version, lasting=False) as real, beside() as own, hooks.running() as reached:
        first, second = (Player(session, token, reached, _PATIENCE) for session, token, *_ in (real, own))
        yield (first, second), own[2]
