"""What a real server says to expressions that it is to store, as the selectors of a device class."""

from __future__ import annotations

import re

from tests.vectors.record.apiserver.answers import answers
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.recordings import Vector, recorded

_FILE = "cel/admission"
_SHOWN = re.compile(r'^Invalid value: "(?:[^"\\]|\\.)*": ', re.DOTALL)


async def asked_again(version: str) -> Outcome:
    """All expressions; ``message`` is what is wrong with one, null if nothing is."""
    vectors = recorded(_FILE)
    asked = [_exchange(vector) for vector in vectors]
    of = {id(exchange): number for number, exchange in enumerate(asked)}
    found = {of[id(exchange)]: answer async for exchange, answer in answers(asked, version)}
    pairs = [(vector, _line(vector, found[number])) for number, vector in enumerate(vectors)]
    return of_answers(pairs, lambda vector: f"{vector['server']}: {vector['expression']}", lambda one, two: one == two)


def _exchange(vector: Vector) -> Vector:
    spec = {"selectors": [{"cel": {"expression": vector["expression"]}}]}
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": spec}
    return {"server": vector["server"], "op": "create", "resource": "deviceclasses", "object": obj}


def _line(vector: Vector, answered: Vector | None) -> Vector:
    """Raises ``ValueError`` for an answer that is not about the expression."""
    response = (answered or {})["response"]
    causes = [cause["message"] for cause in response.get("causes", ())]
    if len(causes) > 1 or (not causes and response["code"] != 201):
        raise ValueError(f"{vector['expression']}: {response}")
    return {**vector, "message": _SHOWN.sub("", causes[0]) if causes else None}
