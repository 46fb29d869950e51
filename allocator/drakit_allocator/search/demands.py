"""What a search has to fill: each request or subrequest as a number of devices out of a set, which is bits.

The devices of a node are numbered in the order in which upstream tries them, over all pools; bit i stands for device i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drakit_allocator.candidates import Candidates
from drakit_allocator.devices.columns import bits, union
from drakit_allocator.errors import AllocationError
from drakit_allocator.pools.compared_attributes import Attribute
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.search.numbering import Numbering
from drakit_allocator.search.values import Column


@dataclass(slots=True, eq=False)
class Demand:
    """A request or subrequest: ``count`` of the devices in ``domain``, or all of them with mode All.

    ``faults`` are devices that are fatal to visit, ``unusable`` ones that mode All wants and nobody can get. ``ties``
    are its constraints: their numbers among those of all claims, and what each looks at. ``draws``: whether its devices
    draw from counters.
    """

    number: int
    request: Request
    claim: int
    count: int
    domain: int
    takes_all: bool
    unusable: int
    faults: Mapping[int, AllocationError]
    ties: tuple[tuple[int, Column], ...]
    is_admin: bool
    draws: bool

    @property
    def is_impossible(self) -> bool:
        """Whether mode All wants what nobody can get, or there is nothing."""
        return self.takes_all and (not self.domain or self.unusable != 0)


@dataclass(slots=True, eq=False)
class Item:
    """One entry of a claim's requests: its alternatives are one, unless it is a prioritized list.

    ``least`` is the number of devices of the alternative with the fewest, ``reach`` are those of all alternatives.
    """

    claim: int
    alternatives: list[Demand]
    is_list: bool
    least: int
    reach: int


def items_of(claims: list[ClaimRequests], candidates: Mapping[Request, Candidates], numbering: Numbering) -> list[Item]:
    """List what is to be filled, in the order of the claims and their requests."""
    return _Items(claims, candidates, numbering).build()


class _Items:
    def __init__(
        self, claims: list[ClaimRequests], candidates: Mapping[Request, Candidates], numbering: Numbering
    ) -> None:
        self._claims = claims
        self._candidates = candidates
        self._numbering = numbering
        self._columns: dict[Attribute, Column] = {}
        self._count = 0

    def build(self) -> list[Item]:
        items, first = [], 0  # the number of the claim's first constraint
        for claim, requests in enumerate(self._claims):
            for alternatives in requests.requests:
                demands = [self._demand(one, first) for one in alternatives]
                least, reach = min(demand.count for demand in demands), union(demand.domain for demand in demands)
                items.append(Item(claim, demands, alternatives[0].parent is not None, least, reach))
            first += len(requests.constraints)
        return items

    def _demand(self, request: Request, first: int) -> Demand:
        found = self._candidates[request]
        self._count += 1
        return Demand(
            number=self._count - 1,
            request=request,
            claim=request.claim,
            count=found.count,
            domain=found.mask,
            takes_all=request.wants_all,
            unusable=found.unusable_mask,
            faults=self._faults(found),
            ties=tuple((first + number, self._column(attribute)) for number, attribute in request.constraints),
            is_admin=request.has_admin_access,
            draws=request.kind.draws_counters,
        )

    def _faults(self, found: Candidates) -> dict[int, AllocationError]:
        if not found.faults:
            return {}
        devices = ((position, self._numbering.device(position)) for position in bits(found.mask))
        return {position: found.faults[device] for position, device in devices if device in found.faults}

    def _column(self, attribute: Attribute) -> Column:
        column = self._columns.get(attribute)
        if column is None:
            mask = union(
                one.mask
                for one in self._candidates.values()
                if any(attribute == looked_at for _, looked_at in one.request.constraints)
            )
            column = self._columns[attribute] = Column(attribute, self._numbering, mask)
        return column
