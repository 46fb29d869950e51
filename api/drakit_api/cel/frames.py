"""Where the variables of an expression lie when it is evaluated.

A compiled expression is a function of a frame, which is a list: the cost so far, the variables of its environment, and
behind them one place for each local variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

COST: Final = 0  # the place of the cost so far in every frame


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of an environment's variables.

    ``fields`` are those of fields that lie in the frame beside their variable. The values of ``certain`` variables are
    of the types that they are declared with, all the way down; those of others need not be. The value of one that is
    ``fallible`` may be ``Failed``.
    """

    variables: Mapping[str, int]
    fields: Mapping[tuple[str, str], int] = field(default_factory=dict)
    certain: frozenset[str] = frozenset()
    fallible: frozenset[str] = frozenset()

    @property
    def first_local(self) -> int:
        """The place of the first local variable."""
        return 1 + len(self.variables) + len(self.fields)


def layout(names: Iterable[str]) -> Layout:
    """Lay variables out in the order of their names, right behind the cost."""
    return Layout({name: place for place, name in enumerate(names, COST + 1)})
