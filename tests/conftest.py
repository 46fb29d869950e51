"""What all unit tests share."""

from __future__ import annotations

from e2e.heard_signals import signals_heard

__all__ = ["signals_heard"]
