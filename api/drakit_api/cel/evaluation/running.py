"""Runs what an expression was compiled to: all that can end it early becomes an error in upstream's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drakit_api.cel.errors import CelRuntimeError, CostExceeded, Panic

if TYPE_CHECKING:
    from drakit_api.cel.evaluation.comprehensions import Closure


def evaluated(run: Closure, frame: list[Any]) -> Any:
    """Evaluate with what the variables are in a frame. Raises ``CelRuntimeError`` where upstream's evaluation fails."""
    try:
        return run(frame)
    except CostExceeded:
        raise CelRuntimeError("operation cancelled: actual cost limit exceeded") from None
    except RecursionError:
        raise CelRuntimeError("operation cancelled: values nest too deep") from None
    except Panic as panic:
        raise CelRuntimeError(f"internal error: {panic}") from None
