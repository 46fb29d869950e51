"""Which requests and constraints of claims cannot be satisfied together on a node.

Each request may find enough devices when it is alone and the claims still do not fit: two partitions of one GPU, values
that no two devices share. A conflict names as few requests and constraints as it takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drakit_allocator.devices.devices import Device
from drakit_allocator.errors import AllocationError
from drakit_allocator.explanation.inventory import pool_of
from drakit_allocator.explanation.minimal import irreducible, smallest
from drakit_allocator.explanation.provenance import Provenance
from drakit_allocator.explanation.report import (
    AttributeValues,
    Conflict,
    ConstraintName,
    CounterName,
    PatchedValue,
    RequestName,
)
from drakit_allocator.explanation.trials import Bench, Trial, changed
from drakit_allocator.pools.compared_attributes import Value, is_unknown
from drakit_allocator.requests import ClaimRequests, Request
from drakit_api.kubernetes_objects import ReadOnlyObject

# What integers, booleans and versions look like.
_OTHER_TYPE = re.compile(r"true|false|-?[0-9]+|[0-9]+\.[0-9]+\.[0-9]+([-+].*)?")

Usable = Callable[[Request], Sequence[Device]]
_PLENTY = "1E"  # a counter that is large enough
# At most so many sets of one size are tried when nothing says which are promising.
_CHEAP = 150


@dataclass(frozen=True, slots=True)
class Member:
    """A request, or a constraint, by its position in a claim."""

    is_request: bool
    claim: int
    position: int


def members_of(claims: Sequence[ClaimRequests]) -> list[Member]:
    """List all requests, then all constraints."""
    requests = [Member(True, n, position) for n, claim in enumerate(claims) for position in range(len(claim.requests))]
    constraints = [
        Member(False, n, position) for n, claim in enumerate(claims) for position in range(len(claim.constraints))
    ]
    return requests + constraints


def reduced(claims: Sequence[ClaimRequests], members: Iterable[Member]) -> list[dict[str, Any]]:
    """Reduce the claims to these requests and constraints; leave out claims without a request."""
    kept = frozenset(members)
    found = []
    for number, claim in enumerate(claims):
        devices = claim.claim["spec"].get("devices") or {}
        requests = [
            request
            for position, request in enumerate(devices.get("requests") or ())
            if Member(True, number, position) in kept
        ]
        constraints = [
            constraint
            for position, given in enumerate(devices.get("constraints") or ())
            if Member(False, number, position) in kept and (constraint := _restricted(given, requests)) is not None
        ]
        if requests:
            spec = {"devices": {"requests": requests, "constraints": constraints}}
            found.append({"metadata": claim.claim.get("metadata") or {}, "spec": spec})
    return found


def _restricted(constraint: Mapping[str, Any], requests: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Restrict a constraint to the requests that are left; None if it is for none of them."""
    names = constraint.get("requests") or ()
    if not names:
        return dict(constraint)
    left = {request["name"] for request in requests}
    named = [name for name in names if name.partition("/")[0] in left]
    return {**constraint, "requests": named} if named else None


class Conflicts:
    """Looks for the conflicts between some claims on one node; ``usable`` are the devices that a request could get."""

    def __init__(self, claims: Sequence[ClaimRequests], trial: Trial, usable: Usable) -> None:
        self._claims = claims
        self._trial = trial
        self._usable = usable
        self._provenance = Provenance(trial.snapshot)

    def find(self) -> list[list[Member]]:
        """Find every request that fails alone; if none does, one set that fails together, as small as can be found.

        Only for claims that do not fit. Not the smallest set if the trial's clock ran out.
        """
        members = members_of(self._claims)
        alone = [[member] for member in members if member.is_request and self._is_infeasible([member])]
        if alone or not members:
            return alone
        return [smallest(members, self._is_infeasible, _CHEAP)]

    def _is_infeasible(self, members: Sequence[Member]) -> bool | None:
        fits = self._trial.fits(reduced(self._claims, members))
        return None if fits is None else not fits

    def described(self, members: Sequence[Member], bench: Bench | None = None) -> Conflict:
        """Describe a conflict with the values that constraints compare and, with a bench, the counters it lacks."""
        requests = [member for member in members if member.is_request]
        return Conflict(
            tuple(self._request_name(member) for member in requests),
            tuple(self._constraint_name(member, requests) for member in members if not member.is_request),
            () if bench is None else _counters(bench, reduced(self._claims, members)),
        )

    def _request_name(self, member: Member) -> RequestName:
        first = self._claims[member.claim].requests[member.position][0]
        return RequestName(first.claim_name, first.parent or first.name)

    def _constraint_name(self, member: Member, requests: Sequence[Member]) -> ConstraintName:
        claim = self._claims[member.claim]
        constraint = claim.constraints[member.position]
        covered = [
            request
            for one in requests
            if one.claim == member.claim
            for request in claim.requests[one.position]
            if any(position == member.position for position, _ in request.constraints)
        ]
        values = tuple(self._values(request, member.position) for request in covered)
        return ConstraintName(claim.name, member.position, constraint.is_match, constraint.attribute, values)

    def _values(self, request: Request, position: int) -> AttributeValues:
        attribute = next(attribute for number, attribute in request.constraints if number == position)
        counts: Counter[str] = Counter()
        patched: Counter[tuple[str, str | None]] = Counter()
        missing = 0
        for device in self._usable(request):
            try:
                value = attribute.of(device)
            except AllocationError:
                value = None
            if value is None:
                missing += 1
            texts = [] if value is None else value_texts(value, as_set=attribute.as_set)
            counts.update(texts)
            if attribute.expression is None and (patch := self._provenance.attribute(device, attribute.name)):
                patched.update((patch, text) for text in texts or (None,))
        wanted = None if request.wants_all else request.count
        by_patch = tuple(PatchedValue(patch, count, text) for (patch, text), count in patched.items())
        return AttributeValues(request.result_name, wanted, tuple(sorted(counts.items())), missing, by_patch)


def value_texts(value: Value, *, as_set: bool) -> list[str]:
    """Print a value, or each value of a set; ``as_set`` is that of ``Attribute``."""
    if is_unknown(value):
        return [
            "(of no known type)" if as_set else "(a list: needs the feature gate DRAListTypeAttributes, which is off)"
        ]
    content, is_string = value.content, value.type.startswith("string")
    contents = content if isinstance(content, frozenset) else (content,)
    return sorted(_text(one, is_string=is_string) for one in contents)


def _text(value: Any, *, is_string: bool) -> str:
    """Print a value; a string that reads as one of another type, to which it is not equal, stands in quotes."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text}"' if is_string and _OTHER_TYPE.fullmatch(text) else text


def _counters(bench: Bench, claims: Sequence[dict[str, Any]]) -> tuple[CounterName, ...]:
    """Find the counters that, if they were large enough, would make the claims fit; none if other things prevent it."""
    every, trial = bench.counters(), bench.trial()
    sources = [one for one in bench.inventory.slices if one["spec"].get("sharedCounters")]

    def suffices(raised: Sequence[tuple[Any, str, str]]) -> bool | None:
        names = frozenset(raised)
        for one in sources:
            trial.snapshot.put_slice(_with_plenty(one, names))
        return trial.fits(claims)

    if not every or not suffices(every):
        return ()
    sets = list(dict.fromkeys((pool, counter_set) for pool, counter_set, _ in every))
    kept = irreducible(sets, lambda some: suffices([one for one in every if one[:2] in some]))
    found = irreducible([one for one in every if one[:2] in kept], suffices)
    return tuple(CounterName("/".join(pool), counter_set, counter) for pool, counter_set, counter in found)


def _with_plenty(resource_slice: ReadOnlyObject, raised: frozenset[tuple[Any, str, str]]) -> ReadOnlyObject:
    pool, spec = pool_of(resource_slice), resource_slice["spec"]
    sets = [
        {
            **counter_set,
            "counters": {
                name: {"value": _PLENTY} if (pool, counter_set["name"], name) in raised else counter
                for name, counter in (counter_set.get("counters") or {}).items()
            },
        }
        for counter_set in spec["sharedCounters"]
    ]
    return changed(resource_slice, {**spec, "sharedCounters": sets})
