"""Claims expanded to what the search works on: requests, their alternatives, constraints.

Expansion depends on claims and classes only; it is done once for a pod and used for all nodes. Sources: ``Allocate``
and ``validateDeviceRequest`` of ``structured/internal/experimental/allocator_experimental.go``; the messages are
upstream's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drakit_allocator.constraints import Constraint
from drakit_allocator.defects import Defect
from drakit_allocator.devices.capacity import Amounts, CapacityError, parse_requests
from drakit_allocator.devices.devices import DeviceContent
from drakit_allocator.devices.request_kinds import RequestKind, kind_of
from drakit_allocator.devices.selectors import Selectors
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.pools.compared_attributes import Attribute
from drakit_api.objects.device_selectors import expressions_of
from drakit_api.typed_objects import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaim, as_claim

WantedDevices = ExactDeviceRequest | DeviceSubRequest

MAX_RESULTS = 32  # devices in the allocation of one claim (AllocationResultsMaxSize)


@dataclass(slots=True, eq=False)
class Request:
    """A request, or one subrequest of a prioritized list, of one of the claims. Compared by identity."""

    claim: int
    claim_name: str
    name: str
    parent: str | None
    spec: WantedDevices
    device_class: Mapping[str, Any]
    selectors: Selectors
    wants_all: bool
    count: int
    capacity: Amounts
    kind: RequestKind  # the same for requests that may get the same devices, as far as one device is concerned
    derived: Mapping[str, str]
    constraints: tuple[tuple[int, Attribute], ...] = ()  # position in the claim, and what it looks at

    @property
    def result_name(self) -> str:
        """As allocation results name it: ``parent/subrequest`` or the request's name."""
        return self.name if self.parent is None else f"{self.parent}/{self.name}"

    @property
    def has_admin_access(self) -> bool:
        """Whether devices in use may be taken as well."""
        return bool(self.spec.get("adminAccess"))

    @property
    def label(self) -> str:
        """Claim and request, as messages begin."""
        return f"claim {self.claim_name}, request {self.name}"

    def amounts(self, content: DeviceContent) -> Amounts | CapacityError | None:
        """Return what a device would give of its capacities, None if it cannot, or the error that ends the search."""
        return self.kind.amounts(content.traits.capacity)


@dataclass(slots=True)
class ClaimRequests:
    """One claim: for each request its alternatives (one, unless it is a prioritized list), and the constraints.

    ``fault`` is why it cannot be allocated on any node, to be told after what is wrong with requests before it. It ends
    the claims; ``unfinished`` are the alternatives before it of the same request.
    """

    claim: ResourceClaim
    name: str
    requests: list[list[Request]]
    constraints: list[Constraint]
    unfinished: list[Request] = field(default_factory=list)
    fault: AllocationError | None = None


def expand(
    claims: Sequence[Mapping[str, Any]], classes: Mapping[str, Mapping[str, Any]], features: Features
) -> list[ClaimRequests]:
    """Check and expand the claims of a pod. Raises ``AllocationError``, unless another may come first on a node."""
    expanded: list[ClaimRequests] = []
    for number, claim in enumerate(claims):
        expanded.append(_Expansion(number, as_claim(claim), classes, features).expand())
        fault = expanded[-1].fault
        if fault is not None:
            if _is_first(expanded):
                raise fault
            break
    return expanded


def _is_first(expanded: Sequence[ClaimRequests]) -> bool:
    """Tell whether no request before the fault at the end can be fatal itself: upstream counts devices as it goes."""
    requests = [one for claim in expanded for alternatives in claim.requests for one in alternatives]
    requests += expanded[-1].unfinished
    return not any(one.wants_all for one in requests) and sum(one.count for one in requests) <= MAX_RESULTS


class _Expansion:
    def __init__(
        self, number: int, claim: ResourceClaim, classes: Mapping[str, Mapping[str, Any]], features: Features
    ) -> None:
        metadata = claim.get("metadata") or {}
        namespace, name = metadata.get("namespace"), metadata.get("name", "")
        self.name = f"{namespace}/{name}" if namespace else name
        self.number = number
        self.claim = claim
        self.classes = classes
        self.features = features

    def expand(self) -> ClaimRequests:
        devices = self.claim["spec"].get("devices") or {}
        expanded = ClaimRequests(self.claim, self.name, [], [])
        try:
            for request in devices.get("requests") or ():
                expanded.unfinished = []
                for alternative in self._alternatives(request):
                    expanded.unfinished.append(alternative)
                expanded.requests.append(expanded.unfinished)
            expanded.unfinished = []
            for number, constraint in enumerate(devices.get("constraints") or ()):
                label = f"claim {self.name}, constraint #{number}"
                expanded.constraints.append(Constraint(constraint, label, self.features))
        except AllocationError as error:
            expanded.fault = error.with_traceback(None)
        else:
            self._connect(expanded)
        return expanded

    def _connect(self, expanded: ClaimRequests) -> None:
        """Tell each request which constraints it is subject to."""
        for request in (request for alternatives in expanded.requests for request in alternatives):
            names = (request.name,) if request.parent is None else (request.parent, request.result_name)
            request.constraints = tuple(
                (number, self._attribute(constraint, request))
                for number, constraint in enumerate(expanded.constraints)
                if constraint.covers(names)
            )

    def _attribute(self, constraint: Constraint, request: Request) -> Attribute:
        expression = request.derived.get(constraint.attribute)
        return Attribute(constraint.attribute, expression, constraint.uses_sets)

    def _alternatives(self, request: DeviceRequest) -> Iterator[Request]:
        name, subrequests, exactly = request["name"], request.get("firstAvailable") or (), request.get("exactly")
        if subrequests and not self.features.prioritized_list:
            raise self._error(name, "has subrequests, but the DRAPrioritizedList feature is disabled")
        if not self.features.consumable_capacity and self.features.variant != "stable":
            for kind, one in (*((("request", exactly),) if exactly else ()), *(("subrequest", s) for s in subrequests)):
                if one.get("capacity") is not None:
                    why = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                    raise self._error(one.get("name", name), why, kind)
        for subrequest in subrequests:
            yield self._request(subrequest, subrequest["name"], name)
        if not subrequests:
            if exactly is None:
                raise self._error(name, "neither exactly nor firstAvailable is set (unsupported request type?)")
            yield self._request(exactly, name, None)

    def _request(self, spec: WantedDevices, name: str, parent: str | None) -> Request:
        derived = {one["name"]: one["expression"] for one in spec.get("derivedAttributes") or ()}
        if derived and not self.features.derived_attributes:
            raise self._error(name, "cannot handle request with derived attributes, the feature is disabled")
        device_class, selectors = self._selection(spec, name, parent)
        mode = spec.get("allocationMode") or ""
        if mode not in ("ExactCount", "All"):
            raise self._error(name, f"unsupported count mode {mode}")
        capacity = parse_requests(spec.get("capacity")) if self.features.consumable_capacity else {}
        is_admin, defects = bool(spec.get("adminAccess")), self.features.defects
        return Request(
            claim=self.number,
            claim_name=self.name,
            name=name,
            parent=parent,
            spec=spec,
            device_class=device_class,
            selectors=selectors,
            wants_all=mode == "All",
            count=spec.get("count") or 0,
            capacity=capacity,
            kind=kind_of(
                selectors.expressions,
                is_admin,
                capacity,
                spec.get("tolerations") or (),
                fractional=self.features.fractional_capacity_range,
                draws_counters=not is_admin or Defect.ADMIN_ACCESS_DRAWS_COUNTERS in defects,
                skips_broken=Defect.BROKEN_RANGE_PANICS not in defects,
            ),
            derived=derived,
        )

    def _selection(self, spec: WantedDevices, name: str, parent: str | None) -> tuple[Mapping[str, Any], Selectors]:
        """Return the request's class, and the selectors of class and request."""
        expressions = expressions_of(spec.get("selectors"))
        if None in expressions:
            number = expressions.index(None)
            raise self._error(f"{name}, selector #{number}", "CEL expression empty (unsupported selector type?)")
        if spec.get("adminAccess") is not None and parent is None and not self.features.admin_access:
            raise self._error(name, "admin access is requested, but the feature is disabled")
        device_class = self._class(spec.get("deviceClassName") or "", name)
        class_name, of_class = device_class["metadata"]["name"], expressions_of(device_class["spec"].get("selectors"))
        if None in of_class:
            raise self._error(name, f"class {class_name}: CEL expression empty (unsupported selector type?)")
        every = tuple(expression for expression in (*of_class, *expressions) if expression is not None)
        return device_class, Selectors(every, len(of_class), class_name, self.name)

    def _class(self, class_name: str, request: str) -> Mapping[str, Any]:
        if not class_name:
            raise self._error(request, "missing device class name (unsupported request type?)")
        if class_name not in self.classes:
            missing = f'deviceclasses.resource.k8s.io "{class_name}" not found'
            raise self._error(request, f"could not retrieve device class {class_name}: {missing}")
        return self.classes[class_name]

    def _error(self, request: str, why: str, kind: str = "request") -> AllocationError:
        return AllocationError(f"claim {self.name}, {kind} {request}: {why}")
