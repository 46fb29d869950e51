"""What selectors and derived attributes have in common: a compiled expression about a device.

What upstream does for stored expressions and for those in a request is in ``k8s.io/dynamic-resource-allocation`` v0.37
``cel/compile.go``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from drakit_api.cel.device import DeviceView
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.evaluation.running import evaluated
from drakit_api.cel.values import budget

if TYPE_CHECKING:
    from drakit_api.cel.footprint import Footprint

CACHE_SIZE = 4096
# A compiled expression takes a hundred times the memory of its text.
_SHORT, _LONG_CACHE_SIZE = 512, 128
_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def remembered(
    function: Callable[Concatenate[str, _Options], _Result],
) -> Callable[Concatenate[str, _Options], _Result]:
    """Remember what a function makes of short expressions, and of a few long ones."""
    short = functools.lru_cache(maxsize=CACHE_SIZE)(function)
    long = functools.lru_cache(maxsize=_LONG_CACHE_SIZE)(function)

    def recall(expression: str, /, *args: _Options.args, **options: _Options.kwargs) -> _Result:
        return (short if len(expression) <= _SHORT else long)(expression, *args, **options)  # type: ignore[arg-type]

    functools.update_wrapper(recall, function)
    return recall


class Expression:
    """A compiled expression. Immutable and safe to use from several threads.

    ``footprint`` tells what of a device its value depends on.
    """

    __slots__ = ("_run", "_scratch", "footprint", "text")

    def __init__(self, text: str, run: Callable[[list[Any]], Any], places: int, reads: Footprint) -> None:
        self.text = text
        self.footprint = reads
        self._run = run
        self._scratch: list[Any] = [0] * places  # behind a copy of the device's frame

    def evaluate(self, device: DeviceView) -> Any:
        """Evaluate the expression for a device. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        if device.problem:
            raise CelRuntimeError(device.problem)
        budget.begin()
        return evaluated(self._run, device.frame + self._scratch if self._scratch else device.frame)
