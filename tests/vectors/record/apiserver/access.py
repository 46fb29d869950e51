"""What a real cluster answers to the recorded conversations of several users."""

from __future__ import annotations

from tests.vectors.access import Conversation, Step, file_of, recorded
from tests.vectors.record.apiserver.servers import cluster
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.replay import pieces

# How long kube-apiserver's own informers may take to see what was prepared.
_PAUSE = 1.0


async def asked_again(part: str, version: str) -> Outcome:
    """All steps of one of ``access.FILES``, with a new cluster."""
    async with cluster(version) as (session, token):
        conversation = Conversation(session, token, pause=_PAUSE)
        answered = [(step, await _answered(conversation, step)) for step in recorded(part)]
    return of_answers(answered, lambda step: f"{file_of(part)}: {step['name']}", _same)


async def _answered(conversation: Conversation, step: Step) -> Step:
    answer = await conversation.answer(step)
    return step if step["op"] == "prepare" else {**step, "response": answer}


def _same(before: Step, now: Step) -> bool:
    """What is wrong comes in the order of Go's maps."""
    return _unordered(before) == _unordered(now)


def _unordered(step: Step) -> Step:
    response = step.get("response", {})
    return {**step, "response": {**response, "message": pieces(response["message"])}} if "message" in response else step
