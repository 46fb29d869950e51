"""Allocation problems that are hard to search, by family and size, in the form of ``drakit allocate --problems``.

python -m bench.families [PART OF A NAME] > problems.jsonl
"""

from bench.families import (
    alternatives,
    constraints,
    counting,
    large,
    machines,
    mesh,
    mig,
    shapes,
    sharing,
    stochastic,
    surroundings,
)
from bench.families.registry import FAMILIES, problems

__all__ = [
    "FAMILIES",
    "alternatives",
    "constraints",
    "counting",
    "large",
    "machines",
    "mesh",
    "mig",
    "problems",
    "shapes",
    "sharing",
    "stochastic",
    "surroundings",
]
