"""Which defects of upstream make a difference to the claims of a pod on a node.

Found by asking: the same claims on the same devices with all defects, with none, and with each one alone; but only
where a defect can matter at all, which is rare and known without a search (``places``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drakit_allocator.allocator import PodAllocation
from drakit_allocator.defects import SAFE, UPSTREAM, Defect
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.explanation.places import Places
from drakit_allocator.explanation.report import DefectEffect, Outcome
from drakit_allocator.explanation.trials import Clock
from drakit_allocator.nodes import Node
from drakit_allocator.search import Choice

_SECONDS_PER_QUESTION = 10.0  # kube-scheduler's filter timeout


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What an allocator says of the claims on a node; two are equal if one is as good as the other."""

    outcome: Outcome
    message: str = ""
    choice: Choice | None = None

    def differs_from(self, other: _Verdict) -> bool:
        """Tell whether both are known, and not the same."""
        return self != other and "timeout" not in (self.outcome, other.outcome)


def defect_effects(pod: PodAllocation, node: Node, clock: Clock) -> tuple[DefectEffect, ...]:
    """Find the defects that change the answer on this node; empty if none does.

    It does not matter which of the defects the pod's own allocator has. Where the time is over before it is known what
    becomes of the claims, with or without the defects, nothing is said, and ``clock.ran_out`` is set.
    """
    try:
        places = Places(pod, node)
    except AllocationError:
        return ()  # whatever the rules are
    if not (suspects := [defect for defect in Defect if places.can_matter(defect)]):
        return ()
    question = _Question(pod, node, clock)
    upstream, safe = question.ask(UPSTREAM), question.ask(SAFE)
    if not upstream.differs_from(safe):
        return ()
    claims = _differing(pod, upstream.choice, safe.choice)
    return tuple(
        DefectEffect(
            defect=defect.value,
            node=node.name,
            text=defect.text,
            upstream=upstream.outcome,
            safe=safe.outcome,
            message=upstream.message,
            claims=claims,
            places=places.of(defect, upstream.choice, safe.choice),
            together=tuple(other.value for other in culprits if other is not defect),
        )
        for culprits in _culprits(question, suspects, safe)
        for defect in culprits
    )


class _Question:
    """The same question to allocators with different defects."""

    def __init__(self, pod: PodAllocation, node: Node, clock: Clock) -> None:
        self._pod = pod
        self._node = node
        self._clock = clock

    def ask(self, defects: frozenset[Defect]) -> _Verdict:
        pod = self._pod if defects == self._pod.snapshot.features.defects else self._pod.under(defects)
        try:
            solution = pod.on(self._node, self._clock.limits(_SECONDS_PER_QUESTION))
        except AllocationAborted as error:
            self._clock.ran_out = True
            return _Verdict("timeout", error.message)
        except AllocationError as error:
            return _Verdict("nodeError" if error.on_node else "error", error.message)
        return _Verdict("doesNotFit") if solution is None else _Verdict("fits", choice=solution.choice)


def _culprits(question: _Question, suspects: Sequence[Defect], safe: _Verdict) -> list[list[Defect]]:
    """Find the defects that change the answer alone; if there is none, a set of them that does so together."""
    if len(suspects) == 1:
        return [list(suspects)]
    alone = [[one] for one in suspects if question.ask(frozenset((one,))).differs_from(safe)]
    if alone:
        return alone
    needed = list(suspects)
    for one in suspects:
        fewer = [other for other in needed if other is not one]
        if question.ask(frozenset(fewer)).differs_from(safe):
            needed = fewer
    return [needed]


def _differing(pod: PodAllocation, one: Choice | None, other: Choice | None) -> tuple[str, ...]:
    """Name the claims that get different devices; all of them, if they fit only once."""
    if one is None or other is None:
        return tuple(claim.name for claim in pod.claims)
    found, first = [], 0
    for claim in pod.claims:
        last = first + len(claim.requests)
        if one[first:last] != other[first:last]:
            found.append(claim.name)
        first = last
    return tuple(found)
