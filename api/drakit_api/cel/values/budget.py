"""How much memory and unpriced work one evaluation, or one compilation, may take.

Upstream counts costs (``call_prices``), but its prices do not tell what a call allocates: ``replace`` costs as much as
its text is long and may return the square of that, nested lists are compared at the price of the outermost. So whatever
makes something larger than its arguments, or walks into nested values, takes from the budget *before* it does so. Real
selectors need a few hundred bytes of the 32 MiB; what needs more ends as if it had exceeded upstream's limit of costs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sized
from typing import Final

from drakit_api.cel.errors import CostExceeded

MOST: Final = 32 * 1024 * 1024
# Constants computed while compiling are kept as long as the expression, so only small ones are.
_FOLDED: Final = 4096
# Bytes of a list's place, of a small object in it, and the work of comparing or formatting one element.
PLACE: Final = 8
OBJECT: Final = 64
VISIT: Final = 32
# Literals with fewer entries are paid well enough by their cost.
FEW_ENTRIES: Final = 16
# Shorter texts are read at a price of one as quickly as upstream does.
_SHORT_TEXT: Final = 256


class _Budget(threading.local):
    left = MOST


_budget = _Budget()


def begin() -> None:
    """Begin an evaluation or a compilation on this thread with the whole budget."""
    _budget.left = MOST


def spend(amount: int) -> None:
    """Take bytes from the budget. Raises ``CostExceeded`` if there are not as many left."""
    _budget.left -= amount
    if _budget.left < 0:
        raise CostExceeded


def spend_text(characters: int, *sources: str) -> None:
    """Take the bytes of a text of so many characters, all from the sources: Python keeps up to four for each."""
    spend(characters if all(source.isascii() for source in sources) else 4 * characters)


def spend_reading(text: str) -> None:
    """Take the work of a call that reads all of a text although its price is one."""
    if len(text) > _SHORT_TEXT:
        spend(len(text))


def spend_list(elements: Sized) -> None:
    """Take the work of looking at each element of a list or map that is part of another value."""
    spend(VISIT * (1 + len(elements)))


@contextlib.contextmanager
def folding() -> Iterator[None]:
    """Have only the little that a folded constant may take; ``CostExceeded`` inside means: leave it unfolded."""
    before = _budget.left
    _budget.left = _FOLDED
    try:
        yield
    finally:
        _budget.left = before
