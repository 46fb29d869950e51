"""Kubernetes' own allocator, CEL and readers of bodies on recorded questions, and on new ones; needs Go.

    python -m tests.vectors.record                                     # all again: what differs from what is recorded
    python -m tests.vectors.record allocator < questions > vectors     # answers to new ones, as vectors have them
    python -m tests.vectors.record cel < questions > vectors
    python -m tests.vectors.record texts < questions > vectors

What a question looks like is told in ``allocator/main.go``, ``cel/main.go`` and ``texts/main.go``. What a whole
kube-apiserver answers is recorded by ``tests.vectors.record.apiserver``.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Vector = dict[str, Any]

_HERE = Path(__file__).parent
_VECTORS = _HERE.parent
_LANGUAGE = {"driver": "gpu.example.com", "device": json.loads((_VECTORS / "cel" / "device.json").read_text("utf-8"))}
# File, what its lines leave out, and arguments of the recorder.
_RECORDED: tuple[tuple[str, Vector, tuple[str, ...]], ...] = (
    ("allocator/random", {}, ()),
    ("allocator/quirks", {}, ("-variant", "")),
    ("allocator/upstream-table", {}, ()),
    ("allocator/found", {}, ()),
    ("allocator/adversarial", {}, ("-timeout", "10m")),  # minutes, for the sake of the last ones of some families
    ("cel/devices", {}, ()),
    ("cel/language", _LANGUAGE, ()),
    ("cel/unknown", {**_LANGUAGE, "new": True}, ()),
    ("cel/derived", {"derived": True}, ()),
    ("cel/random", {}, ()),
    ("api/texts", {}, ()),
)
# Of files that are not in a directory of their recorder's name.
_RECORDERS = {"api/texts": "texts"}
_BESIDE = {"name", "steps", "alternatives", "unstable"}  # not part of what is answered


def main(arguments: list[str]) -> int:
    """Record, or check all that is recorded."""
    if arguments:
        questions = [json.loads(line) for line in sys.stdin]
        for question, answer in zip(questions, _answers(arguments[0], questions, ()), strict=True):
            print(json.dumps({**question, "answer": answer}, ensure_ascii=False, separators=(",", ":")))
        return 0
    return 1 if sum([_check(*recorded) for recorded in _RECORDED]) else 0


def _check(name: str, left_out: Vector, arguments: tuple[str, ...]) -> int:
    with gzip.open(_VECTORS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        vectors: list[Vector] = [json.loads(line) for line in lines]
    questions = [{**left_out, **{key: one[key] for key in one if key != "answer"}} for one in vectors]
    answers = list(_answers(_RECORDERS.get(name, name.partition("/")[0]), questions, arguments))
    different = [one for one, answer in zip(vectors, answers, strict=True) if not _is_recorded(answer, one["answer"])]
    for one in different:
        print(f"{name}: {one.get('name') or one.get('expression') or one['text']}")
    print(f"{name}: {len(different)} of {len(vectors)} are answered differently")
    return len(different)


def _answers(recorder: str, questions: Iterable[Vector], arguments: tuple[str, ...]) -> Iterator[Vector]:
    """In the order of the questions."""
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    command = ["go", "run", ".", *arguments]
    done = subprocess.run(command, cwd=_HERE / recorder, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    answers = map(json.loads, done.stdout.splitlines())
    return answers if recorder == "cel" else (answer["answer"] for answer in answers)


def _is_recorded(answer: Vector, recorded: Vector) -> bool:
    """Where upstream's answer depends on the order of a Go map, each of the answers seen is right."""
    seen = [recorded, *map(json.loads, recorded.get("alternatives") or ())]
    return any(all(answer.get(key) == one[key] for key in one.keys() - _BESIDE) for one in seen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
