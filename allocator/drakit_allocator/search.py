"""The search: an explicit depth-first walk over requests, alternatives and devices, in upstream's order.

The first solution in that order is the answer (``allocateOne`` of
``structured/internal/experimental/allocator_experimental.go``). The walk keeps its own stack, for a pod may have more
devices than Python has stack frames, and leaves out only what cannot hold a solution: devices like one that led nowhere
(``interchange.py``), values of a constraint that others cannot have (``outlook.py``), too few candidates for the rest
of a request, and states from which the rest failed before.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from drakit_allocator.attempt import Attempt, Placement
from drakit_allocator.candidates import Candidates, Situation
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.interchange import Interchange
from drakit_allocator.outlook import Outlook
from drakit_allocator.requests import ClaimRequests, Request

_STEPS_BETWEEN_CLOCKS = 256
# A search that ends before is not worth the bookkeeping; and one that would need more has to do without.
_STEPS_BEFORE_REMEMBERING = 64
_REMEMBERED_STATES = 200_000


class Outcome(enum.Enum):
    """How a part of the search ended. EXCEEDED: only smaller subrequests of an earlier request can help."""

    SOLVED = enum.auto()
    FAILED = enum.auto()
    EXCEEDED = enum.auto()


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: upstream's filter timeout as a ``time.monotonic`` moment, and a bound on steps."""

    deadline: float | None = None
    steps: int | None = None


NO_LIMITS = Limits()


@dataclass(slots=True)
class Search:
    """One search: the claims, their candidates on the node, and the attempt in progress.

    ``prunes=False`` walks as upstream does, which is good for comparing answers with.
    """

    situation: Situation
    claims: list[ClaimRequests]
    candidates: Mapping[Request, Candidates]
    limits: Limits = NO_LIMITS
    prunes: bool = True
    steps: int = 0
    chosen: dict[tuple[int, int], int] = field(default_factory=dict)  # (claim, request) -> alternative
    attempt: Attempt = field(init=False)
    interchange: Interchange | None = None
    _stack: list[Frame] = field(default_factory=list)
    _outcome: Outcome | None = None  # of the level that was left last
    _dead: set[Hashable] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.attempt = Attempt(self.situation, self.claims)

    def run(self) -> bool:
        """Whether there is a solution, which is then in ``attempt.results`` and ``chosen``.

        Raises ``AllocationError``.
        """
        found: bool | None = None
        while found is None:
            found = self.walk(_STEPS_BETWEEN_CLOCKS)
        return found

    def walk(self, steps: int) -> bool | None:
        """Go on for at most so many steps: what ``run`` says, or None when that was not enough.

        For callers that have other things to do in between.
        """
        if not self._stack:
            self._start()
        for _ in range(steps):
            self._count_step()
            step = self._stack[-1].advance(self, self._outcome)
            if isinstance(step, Frame):
                self._stack.append(step)
                self._outcome = None
                continue
            if step is Outcome.SOLVED:
                return True
            self._ended(self._stack.pop(), step)
            self._outcome = step
            if not self._stack:
                if step is Outcome.EXCEEDED:
                    raise AllocationError("allocation max size exceeded")
                return False
        return None

    def _start(self) -> None:
        if self.prunes:
            self.interchange = Interchange.of(self.situation, self.candidates)
        if self.interchange is not None:
            self.attempt.outlook = Outlook(self.claims, self.candidates)
        self._stack.append(self.enter(0, 0))

    def _count_step(self) -> None:
        self.steps += 1
        if self.limits.steps is not None and self.steps > self.limits.steps:
            raise AllocationAborted(f"filter operation aborted: no answer after {self.limits.steps} steps")
        is_time_to_look = self.limits.deadline is not None and self.steps % _STEPS_BETWEEN_CLOCKS == 1
        if is_time_to_look and time.monotonic() > (self.limits.deadline or 0.0):
            raise AllocationAborted("filter operation aborted: context deadline exceeded")

    def _ended(self, frame: Frame, outcome: Outcome) -> None:
        """Remember that nothing came of the rest from here."""
        if frame.entered is None or outcome is not Outcome.FAILED or len(self._dead) >= _REMEMBERED_STATES:
            return
        if self.interchange is not None and self.steps > _STEPS_BEFORE_REMEMBERING:
            self._dead.add(self._state(*frame.entered))

    def _state(self, claim: int, request: int) -> Hashable:
        assert self.interchange is not None
        return claim, request, self.attempt.fingerprint(claim, self.interchange.kind)

    def enter(self, claim: int, request: int) -> Frame:
        """The frame that allocates from this request on."""
        if claim >= len(self.claims):
            return _Settled(Outcome.SOLVED)
        if self._dead and self._state(claim, request) in self._dead:
            return _Settled(Outcome.FAILED)
        requests = self.claims[claim].requests
        frame: Frame
        if request >= len(requests):
            frame = _ClaimDone(claim)
        elif requests[request][0].parent is not None:
            frame = _PrioritizedList(claim, request)
        else:
            frame = self.begin(claim, request, 0)
        frame.entered = (claim, request)
        return frame

    def begin(self, claim: int, request: int, alternative: int) -> Frame:
        """The frame that allocates one request or subrequest."""
        self.chosen[claim, request] = alternative
        candidates = self.candidates[self.claims[claim].requests[request][alternative]]
        if candidates.request.wants_all and not candidates.devices:
            return _Settled(Outcome.FAILED)
        return self.next_device(claim, request, candidates, 0, 0)

    def next_device(self, claim: int, request: int, candidates: Candidates, number: int, position: int) -> Frame:
        """The frame for the request's device ``number``, from the candidate at ``position`` on."""
        if number >= candidates.count:
            return self.enter(claim, request + 1)
        if candidates.request.wants_all:
            return _EveryDevice(claim, request, candidates, number)
        return _OneDevice(claim, request, candidates, number, position)


class Frame:
    """One level of the walk; ``entered`` is the claim and request if it is the first level of a request."""

    __slots__ = ("entered",)

    def __init__(self) -> None:
        self.entered: tuple[int, int] | None = None

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        """Start (``outcome`` None), or go on after the level below: the next level below, or how this one ended."""
        raise AssertionError("every kind of frame has its own advance")


class _Settled(Frame):
    """A level whose outcome is known without looking."""

    __slots__ = ("known",)

    def __init__(self, known: Outcome) -> None:
        super().__init__()
        self.known = known

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        return self.known


class _ClaimDone(Frame):
    """Between two claims. Too many devices in a later claim may be cured by any other choice in an earlier one."""

    __slots__ = ("claim",)

    def __init__(self, claim: int) -> None:
        super().__init__()
        self.claim = claim

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        return search.enter(self.claim + 1, 0) if outcome is None else Outcome.FAILED


class _PrioritizedList(Frame):
    """Tries the subrequests of a request in order."""

    __slots__ = ("alternative", "claim", "only_exceeded", "request")

    def __init__(self, claim: int, request: int) -> None:
        super().__init__()
        self.claim = claim
        self.request = request
        self.alternative = -1
        self.only_exceeded = True

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is Outcome.FAILED:
            self.only_exceeded = False
        self.alternative += 1
        if self.alternative < len(search.claims[self.claim].requests[self.request]):
            return search.begin(self.claim, self.request, self.alternative)
        return Outcome.EXCEEDED if self.only_exceeded else Outcome.FAILED


class _DeviceFrame(Frame):
    __slots__ = ("candidates", "claim", "number", "placement", "request")

    def __init__(self, claim: int, request: int, candidates: Candidates, number: int) -> None:
        super().__init__()
        self.claim = claim
        self.request = request
        self.candidates = candidates
        self.number = number
        self.placement: Placement | None = None

    def below(self, search: Search, position: int) -> Frame:
        """The frame for the device after this one."""
        return search.next_device(self.claim, self.request, self.candidates, self.number + 1, position)


class _EveryDevice(_DeviceFrame):
    """Takes the next of all devices: there is no choice, and no solution without it."""

    __slots__ = ()

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is not None:
            assert self.placement is not None
            search.attempt.remove(self.placement)
            return outcome
        if search.attempt.exceeds(self.claim, self.candidates.count - self.number):
            return Outcome.EXCEEDED
        request, device = self.candidates.request, self.candidates.devices[self.number]
        if device in self.candidates.unusable or search.attempt.is_taken(request, device):
            return Outcome.FAILED
        self.placement = search.attempt.place(request, device, must=True)
        return Outcome.FAILED if self.placement is None else self.below(search, 0)


class _OneDevice(_DeviceFrame):
    """Tries one candidate after the other; devices of one request are taken in increasing order only."""

    __slots__ = ("hopeless", "position")

    def __init__(self, claim: int, request: int, candidates: Candidates, number: int, position: int) -> None:
        super().__init__(claim, request, candidates, number)
        self.position = position
        self.hopeless: set[int] = set()  # kinds of devices that led nowhere here

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is None:
            if search.attempt.exceeds(self.claim, self.candidates.count - self.number):
                return Outcome.EXCEEDED
        elif (failed := self._withdraw(search, outcome)) is not None:
            return failed
        request, faults = self.candidates.request, self.candidates.faults
        interchange = search.interchange
        last = len(self.candidates.devices) - 1
        if interchange is not None:  # enough candidates must remain for the devices after this one
            last -= self.candidates.count - self.number - 1
        while self.position <= last:
            device = self.candidates.devices[self.position]
            self.position += 1
            if search.attempt.is_taken(request, device):
                continue
            if device in faults:
                raise faults[device]
            if self.hopeless and interchange is not None and interchange.kind(device) in self.hopeless:
                continue
            self.placement = search.attempt.place(request, device)
            if self.placement is not None:
                return self.below(search, self.position)
        return Outcome.FAILED

    def _withdraw(self, search: Search, outcome: Outcome) -> Outcome | None:
        assert self.placement is not None
        search.attempt.remove(self.placement)
        if search.interchange is not None:
            self.hopeless.add(search.interchange.kind(self.placement.device))
        return outcome if outcome is Outcome.EXCEEDED else None
