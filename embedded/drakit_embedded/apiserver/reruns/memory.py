"""What a request remembers from one run to the next: answers from outside, and what it has made up by itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextvars import ContextVar
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")
A = TypeVar("A")


_NO_ANSWERS: dict[tuple[Hashable, bytes], Any] = {}


class Question(NamedTuple, Generic[A]):
    """A call to another program, whose answer somebody waits for."""

    # Who is asked, and for the how manieth time by this request if the same may be asked twice.
    subject: Hashable
    # All that the answer depends on.
    content: bytes
    # Makes the call, which may take as many seconds; a call that fails is an answer, too.
    ask: Callable[[float], Awaitable[A]]


class Pending(Exception):
    """Ends a run that needs answers which are not there yet; those are asked for at the same time."""

    def __init__(self, questions: Sequence[Question[Any]]) -> None:
        super().__init__(f"{len(questions)} answers are needed")
        self.questions = questions


class Memory:
    """The memory of one request, which lasts for all of its runs. Most requests have nothing to remember."""

    __slots__ = ("_answers", "_asked", "_made", "_recalled", "_seconds")

    def __init__(self) -> None:
        self._seconds = 0
        # By purpose, in the order in which they were made up; and how many of them this run has recalled.
        self._made: dict[str, list[Any]] | None = None
        self._recalled: dict[str, int] | None = None
        self._answers: dict[tuple[Hashable, bytes], Any] = _NO_ANSWERS
        self._asked: dict[Hashable, int] | None = None

    def rewind(self) -> None:
        """Begin another run, in which everything made up comes again from the first one on."""
        self._recalled = None

    def now(self) -> int:
        """Read the clock, once: later runs are of the same time."""
        if not self._seconds:
            self._seconds = int(time.time())
        return self._seconds

    def recall(self, purpose: str, make: Callable[[], T]) -> T:
        """Return what the runs before made up at this place, or make it up."""
        self._made, self._recalled = self._made or {}, self._recalled or {}
        made, position = self._made.setdefault(purpose, []), self._recalled.get(purpose, 0)
        self._recalled[purpose] = position + 1
        if position == len(made):
            made.append(make())
        found: T = made[position]
        return found

    def learn(self, question: Question[A], answer: A) -> int:
        """Remember an answer; returns how often its subject has been asked."""
        self._answers = {**self._answers, (question.subject, question.content): answer}
        self._asked = self._asked or {}
        times = self._asked[question.subject] = self._asked.get(question.subject, 0) + 1
        return times

    def answers(self, questions: Sequence[Question[A]]) -> list[A]:
        """Look up answers; raises ``Pending`` if one is not known yet."""
        known = self._answers
        unknown = [asked for asked in questions if (asked.subject, asked.content) not in known]
        if unknown:
            raise Pending(unknown)
        return [known[asked.subject, asked.content] for asked in questions]


current: ContextVar[Memory | None] = ContextVar("memory of the request", default=None)


def once(purpose: str, make: Callable[[], T]) -> T:
    """Make something up that the other runs of this request get, too."""
    memory = current.get()
    return make() if memory is None else memory.recall(purpose, make)


def now() -> int:
    """Read the time in seconds; it is the same in all runs of a request."""
    memory = current.get()
    return int(time.time()) if memory is None else memory.now()


def can_ask() -> bool:
    """Check whether answers can be waited for: not before the server has started, when it writes objects of its own."""
    return current.get() is not None


def answers(questions: Sequence[Question[A]]) -> list[A]:
    """Return answers from outside.

    Raises:
        Pending: if one is not known yet. Whoever called lets it pass: all is run again when it is.
    """
    memory = current.get()
    if memory is None:
        raise RuntimeError("nobody waits for an answer here: the caller is not run by reruns.driver.settled")
    return memory.answers(questions)
