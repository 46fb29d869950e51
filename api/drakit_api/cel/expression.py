"""What selectors and derived attributes have in common: a compiled expression about a device.

What upstream does for stored expressions and for those in a request is in ``k8s.io/dynamic-resource-allocation`` v0.37
``cel/compile.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .device import DeviceView
from .errors import CelRuntimeError, CostExceeded, Panic

if TYPE_CHECKING:
    from .footprint import Footprint

CACHE_SIZE = 4096


class Expression:
    """A compiled expression. Immutable and safe to use from several threads.

    ``footprint`` tells what of a device its value depends on.
    """

    __slots__ = ("_run", "_scratch", "footprint", "text")

    def __init__(self, text: str, run: Callable[[list[Any]], Any], places: int, reads: Footprint) -> None:
        self.text = text
        self.footprint = reads
        self._run = run
        self._scratch: list[Any] = [0] * places  # behind a copy of the device's frame: cost so far, local variables

    def evaluate(self, device: DeviceView) -> Any:
        """The value for a device. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
        if device.problem:
            raise CelRuntimeError(device.problem)
        try:
            return self._run(device.frame + self._scratch if self._scratch else device.frame)
        except CostExceeded:
            raise CelRuntimeError("operation cancelled: actual cost limit exceeded") from None
        except Panic as panic:
            raise CelRuntimeError(f"internal error: runtime error: {panic}") from None
