"""Requests that need answers from other programs: run again until all are there, asking and making up the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from drakit_embedded.apiserver.reruns import memory
from drakit_embedded.apiserver.reruns.driver import settled
from drakit_embedded.apiserver.reruns.memory import Question, answers
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.serving.background import Background


class Program:
    """Another program, which answers with what it was asked in capitals."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def question(self, text: str, subject: str = "program") -> Question[str]:
        async def ask(seconds: float) -> str:
            self.asked.append(text)
            await asyncio.sleep(0)
            return text.upper()

        return Question(subject, text.encode(), ask)


def in_loop(work: Callable[[], str]) -> Callable[[], Awaitable[str]]:
    async def run() -> str:
        return work()

    return run


async def test_a_run_is_repeated_until_all_answers_are_known() -> None:
    program, runs = Program(), []

    def work() -> str:
        runs.append(1)
        first = answers([program.question("a")])
        second = answers([program.question("b"), program.question("c")])
        return "".join(first + second)

    assert await settled(in_loop(work)) == "ABC"
    assert program.asked == ["a", "b", "c"]
    assert len(runs) == 3


async def test_what_needs_no_answer_runs_once() -> None:
    runs = iter("ab")
    assert await settled(in_loop(lambda: next(runs))) == "a"
    assert next(runs) == "b"


async def test_a_question_that_has_changed_is_asked_anew() -> None:
    program, stored = Program(), iter(["old", "new", "new"])
    assert await settled(in_loop(lambda: answers([program.question(next(stored))])[0])) == "NEW"
    assert program.asked == ["old", "new"]


async def test_what_a_request_makes_up_is_the_same_in_all_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    program, seen, clock = Program(), [], iter(range(1_700_000_000, 1_800_000_000, 3600))
    monkeypatch.setattr("drakit_embedded.apiserver.reruns.memory.time.time", lambda: next(clock))

    def work() -> str:
        made = (metadata.new_uid(), metadata.new_uid(), metadata.timestamp(), metadata.generated_name("pod-"))
        seen.append((*made, metadata.random_below(1000)))
        return answers([program.question("x")])[0]

    assert await settled(in_loop(work)) == "X"
    first, second = seen
    assert first == second
    assert first[0] != first[1]
    assert await settled(in_loop(work)) == "X"
    assert set(seen[2]).isdisjoint(first[:4])


async def test_a_run_in_a_thread_has_the_memory_of_its_request() -> None:
    program, background = Program(), Background("test")

    async def run() -> str:
        return await background.run(lambda: answers([program.question("long")])[0])

    try:
        assert await settled(run) == "LONG"
    finally:
        background.close()


async def test_questions_of_one_run_are_asked_side_by_side() -> None:
    arrived = asyncio.Barrier(3)

    def question(name: str) -> Question[str]:
        async def ask(seconds: float) -> str:
            await arrived.wait()
            return name

        return Question(name, b"", ask)

    async with asyncio.timeout(10):
        assert await settled(in_loop(lambda: "".join(answers([question(name) for name in "abc"])))) == "abc"


async def test_a_cancelled_request_cancels_its_calls() -> None:
    begun, ended = asyncio.Event(), []

    async def ask(seconds: float) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)
        return ""

    questions = [Question(name, b"", ask) for name in "ab"]
    request = asyncio.create_task(settled(in_loop(lambda: "".join(answers(questions)))))
    await begun.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended == [1, 1]


async def test_a_request_ends_with_its_time() -> None:
    program = Program()
    with pytest.raises(StatusError, match="did not complete within requested timeout") as refused:
        await settled(in_loop(lambda: answers([program.question("x")])[0]), seconds=0)
    assert refused.value.code == 504


async def test_a_request_that_never_asks_the_same_ends() -> None:
    program, numbers = Program(), iter(range(1_000_000))
    with pytest.raises(StatusError, match="did not complete"):
        await settled(in_loop(lambda: answers([program.question(str(next(numbers)))])[0]))
    assert len(program.asked) < 1000


def test_without_a_driver_nothing_can_be_asked() -> None:
    assert not memory.can_ask()
    with pytest.raises(RuntimeError, match="nobody waits"):
        answers([Program().question("x")])
