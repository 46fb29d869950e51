"""What Kubernetes' own libraries answer: allocator, CEL, readers of bodies, quantities. Each is a Go program here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from drakit_kind.cluster import ClusterError
from tests.vectors.record.go_modules import HERE, module_of
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.recordings import DIRECTORY, Vector, recorded

# Where an answer depends on the order of a Go map, a few times show each of a few.
_TURNS = 12
_BESIDE = {"name", "steps", "alternatives", "unstable"}  # not part of what is answered


class Recorder(NamedTuple):
    """A Go program in ``directory``.

    ``beside``: its answer is a part of the line, not all that is not asked. ``kept`` are the parts of an answer that
    are recorded, if not all are.
    """

    directory: str
    beside: bool = True
    arguments: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def language() -> Vector:
    """What the lines of ``cel/language`` leave out: one driver and one device for all."""
    return {"driver": "gpu.example.com", "device": json.loads((DIRECTORY / "cel" / "device.json").read_text("utf-8"))}


def asked_again(file: str, version: str, recorder: Recorder, left_out: Vector) -> Outcome:
    """All of a file."""
    vectors = recorded(file)
    now = list(_lines(vectors, version, recorder, left_out))
    for _ in range(_TURNS):
        other = [n for n, (before, after) in enumerate(zip(vectors, now, strict=True)) if not _same(before, after)]
        if not other:
            break
        for number, answer in zip(other, _lines([vectors[n] for n in other], version, recorder, left_out), strict=True):
            now[number] = answer
    return of_answers(zip(vectors, now, strict=True), _name, _same)


def answers(recorder: Recorder, questions: Sequence[Vector], version: str) -> list[Vector]:
    """In the order of the questions. Raises ``ClusterError`` where the program cannot be built or fails."""
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    with module_of(recorder.directory, version) as module:
        # A copy may lack what the modules of another release need besides.
        mode = "readonly" if module.parent == HERE else "mod"
        done = subprocess.run(
            ["go", "run", f"-mod={mode}", ".", *recorder.arguments],
            cwd=module,
            env={**os.environ, "GOWORK": "off"},
            input=asked,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise ClusterError(f"`go run` of the recorder {recorder.directory} failed:\n{done.stderr.strip()}")
    found = list(map(json.loads, done.stdout.splitlines()))
    return [one["answer"] for one in found] if found and "answer" in found[0] else found


def _lines(vectors: Iterable[Vector], version: str, recorder: Recorder, left_out: Vector) -> Iterable[Vector]:
    questions = [_question(vector, recorder) for vector in vectors]
    found = answers(recorder, [{**left_out, **question} for question in questions], version)
    for question, whole in zip(questions, found, strict=True):
        answer = {key: one for key, one in whole.items() if not recorder.kept or key in recorder.kept}
        yield {**question, "answer": answer} if recorder.beside else {**question, **answer}


def _question(vector: Vector, recorder: Recorder) -> Vector:
    return {key: one for key, one in vector.items() if key != "answer"} if recorder.beside else {"in": vector["in"]}


def _name(vector: Vector) -> str:
    return str(next(vector[key] for key in ("name", "expression", "text", "in") if key in vector))


def _same(recorded: Vector, now: Vector) -> bool:
    """Where upstream's answer depends on the order of a Go map, each of the answers seen is right."""
    before, after = recorded.get("answer", recorded), now.get("answer", now)
    seen = [before, *map(json.loads, before.get("alternatives") or ())]
    return any(all(after.get(key) == one.get(key) for key in (one.keys() | after.keys()) - _BESIDE) for one in seen)
