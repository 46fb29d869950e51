"""A slow, obviously right allocator, written from the rules on plain JSON objects, to compare the real one with.

It shares no code with it: quantities are fractions, selectors are one of a few forms, and the search is the naive one,
depth first in upstream's order. ``without`` names the mistakes of upstream that it is to be without, by the values of
``Defect``. Left out: nodes other than by name, generations of pools, taint rules, derived attributes, binding
conditions and feature sets other than those of 1.37 and all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object

Picks = list[list[tuple[str, str, str, str]]]  # for each claim: request, driver, pool, device
Answer = Picks | str | None  # None: does not fit; "error" and "error on node"
Amounts = dict[str, Fraction]

_SUFFIXES = {"": Fraction(1), "m": Fraction(1, 1000), "k": Fraction(1000), "M": Fraction(10**6)}
_SUFFIXES |= {"Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}
_FORM = re.compile(r'device\.attributes\["([^"]+)"\]\.(\w+) (==|!=|<|>=|in) (.+)')
_DRIVER = re.compile(r'device\.driver == "([^"]+)"')
_UNGROUPED = ""  # the compatibility group of the devices without any
_ELEMENTS = {"ints": "int", "strings": "string", "bools": "bool", "versions": "version"}


class Fatal(Exception):
    """Ends the allocation on all nodes."""


class TooLong(Exception):
    """More steps than the caller wants to wait for."""


class _BrokenRange(Exception):
    """A policy of a capacity on which upstream panics."""


class _Exceeded(Exception):
    """Only smaller subrequests of an earlier request can help."""


def quantity(text: str) -> Fraction:
    """The amount that a quantity such as 1500m stands for."""
    number, suffix = re.fullmatch(r"(-?[0-9.]+)([a-zA-Z]*)", text).groups()  # type: ignore[union-attr]
    return Fraction(number) * _SUFFIXES[suffix]


def picks_of(answered: Mapping[str, Any]) -> Answer:
    """An answer line of ours in the form in which the reference answers."""
    if answered.get("error"):
        return "error on node" if answered.get("onNode") else "error"
    if answered["allocation"] is None:
        return None
    return [
        [(one["request"], one["driver"], one["pool"], one["device"]) for one in claim["devices"].get("results", ())]
        for claim in answered["allocation"]
    ]


class Device(NamedTuple):
    """A published device; ``key`` is driver, pool and name."""

    key: tuple[str, str, str]
    spec: Object

    @property
    def pool(self) -> tuple[str, str]:
        """Driver and pool."""
        return self.key[:2]

    @property
    def is_shareable(self) -> bool:
        """Whether it may be given to several requests."""
        return bool(self.spec.get("allowMultipleAllocations"))

    @property
    def draws(self) -> list[tuple[tuple[str, str, str, str], Fraction]]:
        """Counters (driver, pool, set, name) and amounts."""
        return [
            ((*self.pool, entry["counterSet"], name), quantity(counter["value"]))
            for entry in self.spec.get("consumesCounters") or ()
            for name, counter in entry["counters"].items()
        ]


class Request(NamedTuple):
    """A request, or a subrequest with its parent."""

    claim: int
    name: str
    parent: str | None
    spec: Object

    @property
    def result_name(self) -> str:
        """As results call it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def is_admin(self) -> bool:
        """Whether it asks for admin access."""
        return bool(self.spec.get("adminAccess"))

    @property
    def takes_all(self) -> bool:
        """Whether the mode is All."""
        return bool(self.spec["allocationMode"] == "All")


class Pick(NamedTuple):
    """A device given to a request; ``amounts`` of a share."""

    request: Request
    device: Device
    amounts: Amounts | None


def _selects(expression: str, device: Device) -> bool:
    of_driver = _DRIVER.fullmatch(expression)
    if of_driver:
        return device.key[0] == of_driver[1]
    found = _FORM.fullmatch(expression)
    assert found, expression
    domain, name, operator, literal = found.groups()
    attribute = _attribute(device, domain, name)
    if attribute is None:
        raise Fatal(f"no such key: {name}")
    (value,) = attribute.values()
    wanted = json.loads(literal)
    if operator == "in":
        return value in wanted
    return bool({"==": value == wanted, "!=": value != wanted, "<": value < wanted, ">=": value >= wanted}[operator])


def _attribute(device: Device, domain: str, name: str) -> Object | None:
    """Qualified names come first, unqualified ones are in the driver's domain."""
    attributes = device.spec.get("attributes") or {}
    found = attributes.get(f"{domain}/{name}")
    if found is None and domain == device.key[0]:
        found = attributes.get(name)
    return found


def _tolerates(spec: Object, taint: Object) -> bool:
    for one in spec.get("tolerations") or ():
        fits_key = one.get("key") in (None, taint["key"])
        fits_value = one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")
        if fits_key and fits_value and one.get("effect") in (None, taint["effect"]):
            return True
    return False


def amounts_of(device: Device, spec: Object) -> Amounts | None:
    """What the device gives of its capacities; None if it cannot. Raises ``Fatal`` and ``_BrokenRange``."""
    capacities = device.spec.get("capacity") or {}
    requests = (spec.get("capacity") or {}).get("requests") or {}
    if not requests.keys() <= capacities.keys():
        return None
    amounts, is_broken = {}, False
    for name, capacity in capacities.items():
        try:
            amounts[name] = _amount(capacity, requests.get(name))
        except _BrokenRange:
            is_broken = True
    if any(amount < 0 for amount in amounts.values()):
        raise Fatal("capacity value is negative")
    if is_broken:
        raise _BrokenRange
    return amounts if all(_is_valid(amounts[name], capacity) for name, capacity in capacities.items()) else None


def _amount(capacity: Object, requested: str | None) -> Fraction:
    policy: Object = capacity.get("requestPolicy") or {}
    if requested is None:
        return quantity(str(policy.get("default", capacity["value"])))
    amount = quantity(requested)
    if "min" in policy.get("validRange", ()):
        lowest = quantity(policy["validRange"]["min"])
        if amount < lowest:
            return lowest
        if "step" not in policy["validRange"]:
            return amount
        step = quantity(policy["validRange"]["step"])
        if not step:
            raise _BrokenRange
        return lowest + step * -(-(amount - lowest) // step)
    if "validValues" in policy:
        return next((one for one in map(quantity, policy["validValues"]) if one >= amount), amount)
    return amount


def _is_valid(amount: Fraction, capacity: Object) -> bool:
    policy = capacity.get("requestPolicy") or {}
    if "default" in policy and amount == quantity(policy["default"]):
        return True
    if "validRange" in policy:
        valid = policy["validRange"]
        if "max" in valid and amount > quantity(valid["max"]):
            return False
        if "step" in valid and ("min" not in valid or not quantity(valid["step"])):
            raise _BrokenRange
        return True
    return "validValues" not in policy or amount in map(quantity, policy["validValues"])


class Reference:
    """One problem. ``limit`` is how many devices a claim may have, ``steps`` when to give up with ``TooLong``."""

    def __init__(
        self, problem: Mapping[str, Any], *, limit: int = 32, steps: int = 100_000, without: Collection[str] = ()
    ) -> None:
        self.without = without
        self.limit = limit
        self.steps = steps
        self.knows_lists = bool(problem["features"].get("all"))
        self.claims: Sequence[Object] = problem["claims"]
        self.classes = {one["metadata"]["name"]: one["spec"] for one in problem["classes"]}
        self.devices: list[Device] = []
        self.broken: dict[str, bool] = {"incomplete": False, "invalid": False}
        self.free: dict[tuple[str, str, str, str], Fraction] = {}
        self._read(problem["slices"])
        self.dedicated: set[tuple[str, str, str]] = set()
        self.shares: dict[tuple[str, str, str], list[Amounts]] = {}
        self._count(problem.get("allocated") or ())
        self.picks: list[Pick] = []

    def _read(self, slices: Sequence[Object]) -> None:
        pools: dict[tuple[str, str], list[Object]] = {}
        for one in sorted(slices, key=lambda one: str(one["metadata"]["name"])):
            pools.setdefault((one["spec"]["driver"], one["spec"]["pool"]["name"]), []).append(one["spec"])
        for key, specs in sorted(pools.items()):
            devices = [Device((*key, spec["name"]), spec) for one in specs for spec in one.get("devices") or ()]
            if len(specs) != specs[0]["pool"]["resourceSliceCount"]:
                self.broken["incomplete"] = True
            elif len({one.key for one in devices}) < len(devices):
                self.broken["invalid"] = True
            else:
                self.devices += devices
            for one in specs:
                for counters in one.get("sharedCounters") or ():
                    for name, counter in counters["counters"].items():
                        self.free[(*key, counters["name"], name)] = quantity(counter["value"])

    def _count(self, allocated: Sequence[Object]) -> None:
        for result in (one for claim in allocated for one in claim["status"]["allocation"]["devices"]["results"]):
            key = (result["driver"], result["pool"], result["device"])
            if result.get("adminAccess"):
                continue
            if "shareID" in result:
                consumed = {name: quantity(one) for name, one in (result.get("consumedCapacity") or {}).items()}
                self.shares.setdefault(key, []).append(consumed)
            else:
                self.dedicated.add(key)
        for device in self._allocated():
            for counter, amount in device.draws:
                self.free[counter] -= amount
        self.overdrawn = {counter[:3] for counter, left in self.free.items() if left < 0}

    def _allocated(self) -> list[Device]:
        return [one for one in self.devices if one.key in self.dedicated or one.key in self.shares]

    def answer(self) -> Answer:
        """The first solution in upstream's order. Raises ``TooLong``."""
        try:
            items = [
                (number, request)
                for number, claim in enumerate(self.claims)
                for request in claim["spec"]["devices"]["requests"]
            ]
            self._check(items)
            if self._solve([self._alternatives(number, request) for number, request in items], 0):
                return self._result()
        except (Fatal, _Exceeded):
            return "error"
        return "error on node" if self.broken["invalid"] else None

    def _result(self) -> Picks:
        result: Picks = [[] for _ in self.claims]
        for request, device, _ in self.picks:
            result[request.claim].append((request.result_name, *device.key))
        return result

    def _alternatives(self, claim: int, request: Object) -> list[Request]:
        if "exactly" in request:
            return [Request(claim, request["name"], None, request["exactly"])]
        return [Request(claim, one["name"], request["name"], one) for one in request["firstAvailable"]]

    def _check(self, items: list[tuple[int, Object]]) -> None:
        """What is fatal before the search: mode All of what is not there, and more devices than a claim can have."""
        totals = [0] * len(self.claims)
        for number, request in items:
            totals[number] += min(self._size(one) for one in self._alternatives(number, request))
            if totals[number] > self.limit:
                raise Fatal("exceeds the claim limit")

    def _size(self, request: Request) -> int:
        return len(self._everything(request)) if request.takes_all else int(request.spec["count"])

    def _everything(self, request: Request) -> list[Device]:
        if any(self.broken.values()):
            raise Fatal("asks for all devices, but a pool is not whole")
        return [one for one in self.devices if self._is_selected(request, one) and self._is_large(request, one, [])]

    def _is_selected(self, request: Request, device: Device) -> bool:
        selectors = (self.classes[request.spec["deviceClassName"]], request.spec)
        expressions = [one["cel"]["expression"] for spec in selectors for one in spec.get("selectors") or ()]
        return all(_selects(one, device) for one in expressions)

    def _is_large(self, request: Request, device: Device, taken: Sequence[Amounts]) -> bool:
        """Whether the capacities are enough next to what is taken."""
        amounts = self._amounts(request, device)
        if amounts is None:
            return False
        return all(
            amount + sum(one.get(name, Fraction(0)) for one in taken)
            <= quantity(device.spec["capacity"][name]["value"])
            for name, amount in amounts.items()
        )

    def _amounts(self, request: Request, device: Device) -> Amounts | None:
        try:
            return amounts_of(device, request.spec)
        except _BrokenRange:
            if "brokenRangePanics" in self.without:
                return None
            raise Fatal("the policy of a capacity makes no sense") from None

    def _solve(self, items: list[list[Request]], number: int) -> bool:
        """Search for devices for an item and all after it."""
        if number == len(items):
            return True
        try:
            return self._solve_item(items, number)
        except _Exceeded:
            if number and items[number][0].claim != items[number - 1][0].claim:
                return False
            raise

    def _solve_item(self, items: list[list[Request]], number: int) -> bool:
        is_exceeded = items[number][0].parent is not None
        for request in items[number]:
            try:
                if self._fill(items, number, request, self._size(request), 0):
                    return True
                is_exceeded = False
            except _Exceeded:
                if request.parent is None:
                    raise
        if is_exceeded:
            raise _Exceeded
        return False

    def _fill(self, items: list[list[Request]], number: int, request: Request, missing: int, start: int) -> bool:
        """The missing devices of a request from device ``start`` on, and all items after it."""
        self.steps -= 1
        if self.steps < 0:
            raise TooLong
        if request.takes_all and not self._everything(request):
            return False
        if not missing:
            return self._solve(items, number + 1)
        if missing > self.limit - sum(pick.request.claim == request.claim for pick in self.picks):
            raise _Exceeded
        for position, device in self._visited(request, missing, start):
            if self._visit(request, device):
                try:
                    if self._fill(items, number, request, missing - 1, position + 1):
                        return True
                except _Exceeded:
                    self.picks.pop()
                    raise
                self.picks.pop()
        return False

    def _visited(self, request: Request, missing: int, start: int) -> Iterator[tuple[int, Device]]:
        if request.takes_all:
            everything = self._everything(request)
            device = everything[len(everything) - missing]
            return iter([(0, device)])
        return ((position, self.devices[position]) for position in range(start, len(self.devices)))

    def _visit(self, request: Request, device: Device) -> bool:
        """Pick the device if that is possible. Raises ``Fatal``."""
        if self._is_in_use(request, device):
            return False
        if not request.takes_all and not self._is_suitable(request, device):
            return False
        if not self._has_counters(request, device) or self._is_tainted(request, device):
            return False
        for constraint in self._constraints(request):
            if not self._satisfies(constraint, device, request.claim):
                if request.takes_all:
                    raise Fatal("a claim constraint would not be satisfied")
                return False
        if not self._is_large(request, device, self._taken(device)):
            return False
        self.picks.append(Pick(request, device, self._amounts(request, device) if device.is_shareable else None))
        return True

    def _is_in_use(self, request: Request, device: Device) -> bool:
        holders = {pick.request.claim for pick in self.picks if pick.device.key == device.key}
        if device.is_shareable:
            holders = set()
        if request.is_admin:
            return request.claim in holders
        if "sharesAreNotInUse" in self.without and device.key in self.shares and not device.is_shareable:
            return True
        return device.key in self.dedicated or bool(holders)

    def _is_suitable(self, request: Request, device: Device) -> bool:
        return self._is_selected(request, device) and self._is_large(request, device, self._taken(device))

    def _taken(self, device: Device) -> list[Amounts]:
        now = [pick.amounts for pick in self.picks if pick.device.key == device.key and pick.amounts is not None]
        return [*self.shares.get(device.key, []), *now]

    def _draws(self, request: Request) -> bool:
        return not request.is_admin or "adminAccessDrawsCounters" not in self.without

    def _has_counters(self, request: Request, device: Device) -> bool:
        if not device.spec.get("consumesCounters") or not self._draws(request) or self._is_shared(device):
            return True
        if self._is_blocked(device) or not self._is_compatible(device):
            return False
        drawn = [draw for one in self.picks if self._is_charged(one) for draw in one.device.draws] + device.draws
        return all(
            sum(amount for other, amount in drawn if other == counter) <= self.free[counter] for counter, _ in drawn
        )

    def _is_shared(self, device: Device) -> bool:
        """Whether another share of the device draws nothing."""
        picked = [pick for pick in self.picks if pick.device.key == device.key and self._draws(pick.request)]
        return device.is_shareable and (bool(picked) or device.key in self.shares)

    def _is_blocked(self, device: Device) -> bool:
        """Whether more is gone of a counter than there is: of any of the pool, or of the device's own counter sets."""
        sets = {counter for counter in self.overdrawn if counter[:2] == device.pool}
        if "overdraftBlocksPool" in self.without:
            sets &= {(*device.pool, entry["counterSet"]) for entry in device.spec["consumesCounters"]}
        return bool(sets)

    def _is_charged(self, pick: Pick) -> bool:
        """Shares of a device draw its counters once, and not again if it is shared already; all others each time."""
        if not self._draws(pick.request):
            return False
        if not pick.device.is_shareable:
            return True
        key = pick.device.key
        first = next(one for one in self.picks if one.device.key == key and self._draws(one.request))
        return first is pick and key not in self.shares

    def _is_compatible(self, device: Device) -> bool:
        """Devices on a counter set have all a compatibility group in common, or none has any."""
        if not self.knows_lists:  # which comes with all other features
            return True
        new = [pick.device for pick in self.picks if self._is_charged(pick)]
        for entry in device.spec["consumesCounters"]:
            common: set[str] | None = None
            for groups in self._groups(self._allocated(), device, entry["counterSet"]):
                if common is None:
                    common = groups
                elif _UNGROUPED not in common | groups:
                    common = common & groups
            for groups in self._groups([*new, device], device, entry["counterSet"]):
                common = groups if common is None else common & groups
                if not common:
                    return False
        return True

    def _groups(self, devices: Sequence[Device], device: Device, counter_set: str) -> list[set[str]]:
        return [
            set(entry.get("compatibilityGroups") or [_UNGROUPED])
            for one in devices
            if one.pool == device.pool
            for entry in one.spec.get("consumesCounters") or ()
            if entry["counterSet"] == counter_set
        ]

    def _is_tainted(self, request: Request, device: Device) -> bool:
        return any(
            one["effect"] in ("NoSchedule", "NoExecute") and not _tolerates(request.spec, one)
            for one in device.spec.get("taints") or ()
        )

    def _constraints(self, request: Request) -> list[Object]:
        names = {request.name, request.result_name} if request.parent is None else {request.parent, request.result_name}
        return [
            one
            for one in self.claims[request.claim]["spec"]["devices"].get("constraints") or ()
            if not one.get("requests") or names & set(one["requests"])
        ]

    def _satisfies(self, constraint: Object, device: Device, claim: int) -> bool:
        domain, _, name = (constraint.get("matchAttribute") or constraint["distinctAttribute"]).rpartition("/")
        attribute = _attribute(device, domain, name)
        if attribute is None:
            return False
        chosen = [
            _attribute(pick.device, domain, name)
            for pick in self.picks
            if pick.request.claim == claim and constraint in self._constraints(pick.request)
        ]
        if not chosen:
            return True
        if not self.knows_lists and next(iter(attribute)) in _ELEMENTS:
            return False  # can be the first, but equals nothing
        sets = [self._elements(one) for one in [*chosen, attribute] if one is not None]
        if "matchAttribute" in constraint:
            return bool(frozenset.intersection(*sets))
        return not any(sets[-1] & one for one in sets[:-1])

    def _elements(self, attribute: Object) -> frozenset[tuple[str, str]]:
        """Values with their types; a single value is a set of one, and without the feature a list is nothing."""
        ((kind, value),) = attribute.items()
        if kind not in _ELEMENTS:
            return frozenset(((kind, json.dumps(value)),))
        return frozenset((_ELEMENTS[kind], json.dumps(one)) for one in value if self.knows_lists)
