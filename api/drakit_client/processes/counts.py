"""How commands say how many of something there are."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return ``1 node``, ``2 nodes``; for nouns whose plural has an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
