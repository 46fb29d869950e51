"""The runs of a request: again and again, until all that it asks of other programs is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.reruns.memory import Memory, Pending, Question, current

T = TypeVar("T")
# requestTimeoutUpperBound in k8s.io/apiserver/pkg/endpoints/handlers/rest.go
SECONDS = 34.0
# How often one program may be asked about one object that others keep changing. Upstream gives up a patch after five
# conflicts, and tries updates until their time is over.
_MOST_TIMES = 100


async def settled(work: Callable[[], Awaitable[T]], seconds: float = SECONDS) -> T:
    """Run ``work`` until it needs no more answers; it must begin anew each time, as if the others had not been.

    Raises:
        StatusError: 504 if it is not done within ``seconds`` from the first question on.
    """
    memory, until = Memory(), 0.0
    token = current.set(memory)
    try:
        while True:
            try:
                return await work()
            except Pending as pending:
                questions = pending.questions
            until = until or time.monotonic() + seconds
            await _ask(memory, questions, until)
            memory.rewind()
    finally:
        current.reset(token)


async def _ask(memory: Memory, questions: Sequence[Question[Any]], until: float) -> None:
    """Ask all questions at once, and learn the answers; if the caller is cancelled, so are the calls."""
    if len(questions) == 1:
        found = [await questions[0].ask(until - time.monotonic())]
    else:
        left = until - time.monotonic()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_called(question, left)) for question in questions]
        found = [task.result() for task in tasks]
    times = [memory.learn(question, answer) for question, answer in zip(questions, found, strict=True)]
    if time.monotonic() >= until or max(times) > _MOST_TIMES:
        raise statuses.deadline_exceeded()


async def _called(question: Question[T], seconds: float) -> T:
    return await question.ask(seconds)
