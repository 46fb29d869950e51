"""What asking a file again has given, in the form in which it is printed or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.vectors.recordings import Vector, line

Name = Callable[[Vector], str]
Same = Callable[[Vector, Vector], bool]


class Outcome(NamedTuple):
    """The lines of a file as they would be now.

    ``different`` names those that are answered otherwise than is recorded, and ``refused`` those that cannot be asked,
    because a server does not take what they need; of these ``vectors`` has none.
    """

    vectors: list[Vector]
    different: list[str]
    refused: list[str]


def of_answers(answered: Iterable[tuple[Vector, Vector | None]], name: Name, same: Same) -> Outcome:
    """Of recorded lines, each with what it would be now, or None. A line that says the same stays as it is."""
    outcome = Outcome([], [], [])
    for before, now in answered:
        if now is None:
            outcome.refused.append(name(before))
            continue
        unchanged = same(before, now)
        outcome.vectors.append(before if unchanged else now)
        if not unchanged:
            outcome.different.append(name(before))
    return outcome


def of_lines(recorded: Iterable[Vector], now: Iterable[Vector], name: Name) -> Outcome:
    """Of lines that are found anew, each known by its name: also what is there no more, or was not there."""
    before, after = {name(line): line for line in recorded}, {name(line): line for line in now}
    changed = [key for key, line in after.items() if line != before.get(key)]
    return Outcome(list(after.values()), [*changed, *(key for key in before if key not in after)], [])


def of_both(first: Outcome, second: Outcome, recorded: Iterable[Vector]) -> Outcome:
    """Of a file that was asked twice: what was answered as recorded once stays, as the other answer was by chance.

    A real server applies a patch to what its cache has first, and gives ports back when it comes to that.
    """
    if len(first.vectors) != len(second.vectors):
        return second
    as_recorded = set(map(line, recorded))
    vectors = [one if line(one) in as_recorded else two for one, two in zip(first.vectors, second.vectors, strict=True)]
    return Outcome(vectors, [name for name in second.different if name in first.different], second.refused)
