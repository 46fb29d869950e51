"""Whether a value of a matchAttribute constraint can work out at all, asked before the search goes into it.

The first device that a constraint covers fixes the value for all others. If some covered request has too few candidates
with that value, even with nothing else taken, no choice further down can help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from drakit_allocator.attributes import Attribute, Value
from drakit_allocator.candidates import Candidates
from drakit_allocator.requests import ClaimRequests, Request


class Outlook:
    """Counts of candidates by value, made when first asked for. Only for searches in which nothing can be fatal."""

    def __init__(self, claims: list[ClaimRequests], candidates: Mapping[Request, Candidates]) -> None:
        self._candidates = candidates
        self._counts: dict[tuple[Request, Attribute], Counter[Value | None]] = {}
        self._ahead = {
            request: claim.requests[position:]
            for claim in claims
            for position, alternatives in enumerate(claim.requests)
            for request in alternatives
        }
        self._known: dict[tuple[Request, int, Value], bool] = {}

    def allows(self, request: Request, constraint: int, value: Value) -> bool:
        """Whether this request and those after it can all get devices with the value.

        ``constraint`` is the position of the constraint, one for single values, in the claim.
        """
        key = (request, constraint, value)
        if key not in self._known:
            later = self._ahead[request][1:]
            self._known[key] = self._suffices(request, constraint, value) and all(
                any(self._suffices(one, constraint, value) for one in alternatives) for alternatives in later
            )
        return self._known[key]

    def _suffices(self, request: Request, constraint: int, value: Value) -> bool:
        attribute = next((attribute for number, attribute in request.constraints if number == constraint), None)
        if attribute is None:
            return True
        counts = self._counts.get((request, attribute))
        if counts is None:
            devices = self._candidates[request].devices
            counts = self._counts[request, attribute] = Counter(attribute.of(device) for device in devices)
        return counts[value] >= self._candidates[request].count
