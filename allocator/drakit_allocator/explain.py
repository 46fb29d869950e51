"""Why the claims of a pod do not fit on a node, in words for an event.

Computed only after a failure and only for nodes that are reported: it looks at every device once more and says what
rules it out, in the order of upstream's checks, so that a device counts for the first reason only.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_allocator.allocator import PodAllocation
from drakit_allocator.candidates import Obstacle, Situation
from drakit_allocator.devices import Device
from drakit_allocator.errors import AllocationError
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools import PoolView
from drakit_allocator.requests import Request
from drakit_allocator.selectors import verdict
from drakit_allocator.taints import first_untolerated
from drakit_api.quantity import Quantity

_USABLE = "can be used"


def summary(pod: PodAllocation, node: Node) -> str:
    """One sentence a request that cannot get its devices on the node, joined by "; ".

    When every request could get devices alone, that is what it says. Never empty. Only for nodes on which the
    allocation failed without ``AllocationError``.
    """
    situation = pod.situation(node)
    requests = [alternatives for claim in pod.claims for alternatives in claim.requests]
    reasons = [f"pool {pool.name} is {pool.problem}: {pool.reason}" for pool in situation.pools if pool.problem]
    short = [
        reason if len(pod.claims) == 1 else f"claim {alternatives[0].claim_name}, {reason}"
        for alternatives in requests
        for reason in _reasons(situation, alternatives)
    ]
    if not short:
        names = ", ".join(alternatives[0].parent or alternatives[0].name for alternatives in requests)
        short = [f"each request has enough devices ({names}), but counters or constraints forbid them together"]
    return "; ".join([*reasons, *short])


def _reasons(situation: Situation, alternatives: list[Request]) -> list[str]:
    """Why each alternative alone gets too few devices; nothing if there is one that gets enough."""
    reasons = [_reason(situation, request) for request in alternatives]
    return [] if None in reasons else [reason for reason in reasons if reason is not None]


def _reason(situation: Situation, request: Request) -> str | None:
    """Why the request alone gets too few devices, or None when enough can be used."""
    counts: dict[str, int] = {}
    details: dict[str, str] = {}
    for pool, device in _devices(situation):
        why, detail = _ruled_out(situation, request, pool, device)
        counts[why] = counts.get(why, 0) + 1
        if detail:
            details.setdefault(why, detail)
    usable, total = counts.pop(_USABLE, 0), sum(counts.values())
    ruled_out = counts.keys() - {_UNSELECTED}
    if request.wants_all:
        if usable and not ruled_out:
            return None
    elif usable >= request.count:
        return None
    parts = [f"{number} {why}" + (f" ({details[why]})" if why in details else "") for why, number in counts.items()]
    if usable:
        parts.append(f"{usable} {_USABLE}" + ("" if request.wants_all else f", {request.count} are wanted"))
    total += usable
    label = f"request {request.result_name}: {total} device{'' if total == 1 else 's'}"
    return f"{label}: {', '.join(parts)}" if parts else label


_UNSELECTED = "do not match selectors"


def _devices(situation: Situation) -> Iterator[tuple[PoolView, Device]]:
    return ((pool, device) for pool in situation.pools for device in pool.devices)


def _ruled_out(situation: Situation, request: Request, pool: PoolView, device: Device) -> tuple[str, str]:
    """What rules the device out for the request, and the particulars."""
    holders = situation.allocated.holders.get(device.id)
    for expression in request.selectors.expressions:
        result = verdict(device.content, expression)
        if result is False:
            return _UNSELECTED, ""
        if result is not True:
            return "fail a selector", str(result)
    if holders and not request.has_admin_access:
        return "are in use", f"{device.id[2]} by {holders[0]}" if holders[0] else ""
    if device not in pool.selectable:
        return "need binding conditions, which are disabled", ""
    if not _is_for(situation.node, device):
        return "are not for this node", ""
    if not situation.has_capacity(request, device):
        return "lack capacity", _capacity_detail(situation, request, device)
    obstacle = situation.obstacle(request, device, pool)
    return (_USABLE, "") if obstacle is None else (obstacle.value, _detail(situation, request, device, obstacle))


def _is_for(node: Node, device: Device) -> bool:
    if not device.slice.is_selected_per_device:
        return True
    name, all_nodes, selector = device.node_selection()
    try:
        return is_reachable(node, name or "", all_nodes, selector)
    except AllocationError:
        return False


def _capacity_detail(situation: Situation, request: Request, device: Device) -> str:
    amounts, limits = request.amounts(device.content), device.content.limits
    if not isinstance(amounts, dict):
        unknown = [name for name in request.capacity if name not in limits]
        return f"{device.id[2]} has no {unknown[0]}" if unknown else "the request policy does not allow the amount"
    taken = situation.allocated.consumed(device.id)
    for name, amount in amounts.items():
        free = limits[name].value.nanos - taken.get(name, 0)
        if amount.nanos > free:
            return f"{name} of {device.id[2]}: needs {amount}, free {_text(free)}"
    return ""


def _detail(situation: Situation, request: Request, device: Device, obstacle: Obstacle) -> str:
    if obstacle is Obstacle.TAINTS:
        taint = first_untolerated(device, request.spec.get("tolerations") or ()) or {}
        return f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
    if obstacle is not Obstacle.COUNTERS:
        return ""
    pool = situation.pool(device.slice.pool)
    availability, names = pool.availability(situation.allocated), pool.counters.layout.names
    needs = device.content.needs(pool.counters.layout)
    number = availability.shortage(needs)
    if number is None:
        number = next(position for position, free in enumerate(availability.free) if free < 0)
        counter_set, counter = names[number]
        return f"{counter} of {counter_set} is overdrawn, which blocks the whole pool"
    counter_set, counter = names[number]
    return f"{counter} of {counter_set}: needs {_text(dict(needs)[number])}, free {_text(availability.free[number])}"


def _text(nanos: int) -> str:
    return str(Quantity(nanos))
