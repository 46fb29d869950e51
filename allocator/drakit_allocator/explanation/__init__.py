"""Why claims do not get devices, and what would help: the explanation of an allocation that failed.

Objects of the API go in as an ``Inventory``; an ``Explanation`` comes out, whose every statement has its particulars
and can be checked against those objects without asking the allocator. ``reasons`` are the single statements, ``report``
is how they are put together (``explanation_json`` is its stable JSON form, described in docs/explain.md), ``text`` is
what people read. What fits is decided by the allocator alone: whatever this package finds out beyond one device is
found by asking it about smaller claims, or about devices that are a little different.
"""

from __future__ import annotations

from drakit_allocator.explanation.explainer import explain
from drakit_allocator.explanation.inventory import Inventory
from drakit_allocator.explanation.report import Explanation, explanation_json
from drakit_allocator.explanation.summary import summary
from drakit_allocator.explanation.text import explanation_text

__all__ = ["Explanation", "Inventory", "explain", "explanation_json", "explanation_text", "summary"]
