"""An explanation as people read it in a terminal: by node and request, devices with one reason together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

from drakit_allocator.explanation.distances import FARTHEST, Distance, distance
from drakit_allocator.explanation.phrases import (
    OUTCOMES,
    category,
    claim_text,
    conflict_text,
    effect_text,
    faulty_patch_text,
    held_counter_sets,
    joined,
    particulars,
    pool_text,
    readings_text,
    remedy_text,
    short_counters,
    silenced_patch_text,
    some_of,
)
from drakit_allocator.explanation.reasons import (
    CapacityMissing,
    CountersShort,
    DeviceReason,
    InUse,
    PoolHidden,
    PoolIncomplete,
    SelectorFalse,
    WrongNode,
)
from drakit_allocator.explanation.report import (
    Conflict,
    Explanation,
    NodeExplanation,
    RequestExplanation,
    RuledOut,
)

_NO_DEVICES = "there are no devices for this node"
_NO_REMEDY = (
    "neither releasing claims nor removing a taint or a patch, repairing a pool or switching on a feature gate does it"
    " alone"
)
_NOTHING_HELPS = "What is left: ask for fewer or other devices, or add a node that has them."
# Reasons because of which a request cannot mean a device at all.
_ANOTHER_KIND = (SelectorFalse, WrongNode, CapacityMissing)
# So many nodes are described each; of more, those that are alike share a line.
_NODES_IN_DETAIL = 3
# At most so many lines for one kind of reason, for one request.
_LINES = 8


def explanation_text(explanation: Explanation, *, detailed: int = _NODES_IN_DETAIL) -> str:
    """Print an explanation: at most ``detailed`` nodes with all details, the others by what they have in common."""
    return "\n".join(_lines(explanation, detailed)) + "\n"


def _lines(explanation: Explanation, detailed: int) -> Iterator[str]:
    what = joined(explanation.claims) or "nothing"
    if explanation.fits:
        yield f"{what}: fits on {explanation.node}"
        for given in explanation.given:
            for one in given.devices:
                yield f"  {given.claim} {one.request}: {one.device}"
        yield from (f"  defect of Kubernetes: {effect_text(one)}" for one in explanation.defects)
        return
    number = len(explanation.nodes)
    where = explanation.nodes[0].node if number == 1 else f"any of {number} nodes"
    fitting = [node.node for node in explanation.nodes if node.outcome == "fits"]
    if fitting:
        where = "any node: an error on one node ends the attempt to allocate"
    yield f"{what}: does not fit" + ("" if explanation.errors else f" on {where}")
    yield from (f"  {claim_text(reason)}" for reason in explanation.errors)
    near = [node for node in sorted(explanation.nodes, key=_distance) if not _is_bare(node)][:detailed]
    shown = {node.node for node in (near or explanation.nodes[:1])}
    for node in explanation.nodes:
        if node.node in shown:
            yield ""
            yield from _node(node)
    yield from _others([node for node in explanation.nodes if node.node not in shown])
    yield from _excluded(explanation)
    yield from _notes(explanation)
    if explanation.best and number > 1:
        yield ""
        yield f"Least that would help: {remedy_text(explanation.best[0])}; then it fits on {explanation.best_node}."
    if explanation.nodes and all(map(_is_hopeless, explanation.nodes)):
        yield ""
        yield _NOTHING_HELPS


def _is_bare(node: NodeExplanation) -> bool:
    """Tell whether the node has nothing that is worth a paragraph, as nodes without devices."""
    has_devices = any(request.devices for claim in node.claims for request in claim.requests)
    return node.outcome == "doesNotFit" and not node.pools and not has_devices


def _distance(node: NodeExplanation) -> tuple[int, int, list[Distance]]:
    """Return a sort key: first nodes with errors, then those where few requests find too few devices.

    Of as many, first those where a device meets most of what the request asks for: a device of the wanted driver that
    is in use says more than devices of other drivers.
    """
    order = {"error": 0, "timeout": 0, "fits": 2}.get(node.outcome, 1)
    lacking = [request for claim in node.claims for request in claim.requests if not request.enough]
    nearest = [min((distance(group.reason) for group in request.ruled_out), default=FARTHEST) for request in lacking]
    return order, len(lacking), nearest


def _others(nodes: Sequence[NodeExplanation]) -> Iterator[str]:
    """Yield a line for the nodes with the same numbers for each request."""
    alike: dict[str, list[str]] = {}
    for node in nodes:
        alike.setdefault(_short(node), []).append(node.node)
    for short, names in alike.items():
        yield ""
        yield f"{some_of(names)}: {short}"


def _excluded(explanation: Explanation) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for node in explanation.excluded:
        by_reason.setdefault(node.message, []).append(node.node)
    for message, names in by_reason.items():
        yield ""
        yield f"{some_of(names)}: not tried: {message}"


def _notes(explanation: Explanation) -> Iterator[str]:
    faulty, silenced = explanation.faulty_patches, explanation.silenced_patches
    if faulty or silenced:
        yield ""
        lines = _limited([*map(faulty_patch_text, faulty), *map(silenced_patch_text, silenced)])
        yield from (f"note: {text.strip()}" for _, text in lines)


def _short(node: NodeExplanation) -> str:
    if _is_bare(node) and not node.unfinished:
        return _NO_DEVICES
    if node.unfinished and not node.claims:
        return f"{OUTCOMES[node.outcome]}; why was not looked for, for want of time"
    lacking = [
        f"request {request.request}: {len(request.usable)} of {request.devices} devices can be used, {_wanted(request)}"
        for claim in node.claims
        for request in claim.requests
        if not request.enough
    ]
    multiple = len(node.claims) > 1
    conflicts = [conflict_text(one, with_claims=multiple) for one in node.conflicts] if not lacking else []
    return "; ".join([*lacking, *conflicts]) or node.message or OUTCOMES[node.outcome]


def _node(node: NodeExplanation) -> Iterator[str]:
    yield f"{node.node}: {OUTCOMES[node.outcome]}" + (f": {node.message}" if node.message else "")
    yield from (f"  {pool_text(pool)}" for pool in node.pools)
    yield from (f"  {claim_text(limit)}" for limit in node.limits)
    for claim in node.claims:
        if len(node.claims) > 1:
            yield f"  claim {claim.claim}"
        yield from chain.from_iterable(_request(request) for request in claim.requests)
    yield from _conflicts(node)
    yield from (f"  defect of Kubernetes: {effect_text(one)}" for one in node.defects)
    for number, remedy in enumerate(node.remedies):
        yield f"  {'would help' if number == 0 else '        or'}: {remedy_text(remedy)}"
    if _is_hopeless(node) and not _is_bare(node):
        yield f"  nothing would help: {'; '.join(_too_few(node)) or _NO_REMEDY}"
    if node.unfinished:
        yield f"  not looked for, for want of time: {joined(node.unfinished)}"


def _is_hopeless(node: NodeExplanation) -> bool:
    """Tell whether everything that could help was tried, and nothing of it does alone."""
    is_known = all(pool.gates for pool in node.pools if isinstance(pool, PoolIncomplete | PoolHidden))
    return node.outcome == "doesNotFit" and is_known and not (node.remedies or node.unfinished)


def _too_few(node: NodeExplanation) -> Iterator[str]:
    """Yield the requests that want more devices than there are of their kind, whoever has them now."""
    for claim in node.claims:
        for _, group in groupby(claim.requests, key=_parent):
            alternatives = list(group)
            if all(one.wanted is not None and _matching(one) < one.wanted for one in alternatives):
                yield from map(_exist, alternatives)


def _matching(request: RequestExplanation) -> int:
    others = (len(group.devices) for group in request.ruled_out if isinstance(group.reason, _ANOTHER_KIND))
    return request.devices - sum(others)


def _exist(request: RequestExplanation) -> str:
    count = _matching(request)
    exist = f"there {'is 1' if count == 1 else f'are {count}'} that match{'es' if count == 1 else ''}"
    return f"request {request.request} wants {request.wanted}, and {exist if count else 'nothing matches'} on this node"


def _wanted(request: RequestExplanation) -> str:
    return "all that match are wanted" if request.wanted is None else f"{request.wanted} wanted"


def _request(request: RequestExplanation) -> Iterator[str]:
    """Yield a request with what rules out the devices that it has not, where it lacks any."""
    state = "enough alone" if request.enough else "not enough"
    usable = f"{len(request.usable)} of {request.devices} devices can be used"
    if not request.devices:
        usable = _NO_DEVICES
    yield f"  request {request.request}: {_wanted(request)}, {usable}: {state}"
    if request.enough:
        return
    lines = [*_selectors(request.ruled_out), *_other_reasons(request.ruled_out)]
    if request.usable:
        lines.append((len(request.usable), f"can be used: {some_of(_short_names(request.usable))}"))
    width = max((len(str(count)) for count, _ in lines), default=0)
    yield from (f"    {count:>{width}} {text}" for count, text in lines)


def _selectors(groups: Sequence[RuledOut]) -> Iterator[tuple[int | str, str]]:
    """Yield the devices that one condition of one selector rules out, with the values that they have."""
    by_condition: dict[tuple[str, str, int, str], list[tuple[str, tuple[str, ...]]]] = {}
    for group in groups:
        if isinstance(reason := group.reason, SelectorFalse):
            expression = " && ".join(one.expression for one in reason.failed)
            read = dict.fromkeys(chain.from_iterable(one.read for one in reason.failed))
            key = (reason.owner_kind, reason.owner, reason.number, expression)
            by_condition.setdefault(key, []).append((readings_text(read), group.devices))
    for (kind, owner, number, expression), values in by_condition.items():
        devices = sum(len(names) for _, names in values)
        yield devices, f"selector {number} of {kind} {owner} is false: {' '.join(expression.split())}"
        yield from _limited(f"{text} ({_counted(names)})" for text, names in values)


def _other_reasons(groups: Sequence[RuledOut]) -> Iterator[tuple[int | str, str]]:
    by_category: dict[str, list[tuple[DeviceReason, tuple[str, ...]]]] = {}
    for group in groups:
        if not isinstance(group.reason, SelectorFalse):
            by_category.setdefault(category(group.reason), []).append((group.reason, group.devices))
    for what, reasons in by_category.items():
        yield sum(len(names) for _, names in reasons), what
        short = [(reason, names) for reason, names in reasons if isinstance(reason, CountersShort)]
        yield from _limited(_counters(short))
        yield from _limited(_named([one for one in reasons if not isinstance(one[0], CountersShort)]))


def _limited(lines: Iterable[str]) -> Iterator[tuple[int | str, str]]:
    """Yield the first lines, and how many more there are."""
    every = list(lines)
    yield from (("", f"  {line}") for line in every[:_LINES])
    if len(every) > _LINES:
        yield "", f"  ... and {len(every) - _LINES} more"


def _counters(groups: Iterable[tuple[CountersShort, tuple[str, ...]]]) -> Iterator[str]:
    """Yield a line for the devices that lack the same counter sets for the same claims, with the needs of the first."""
    alike: dict[tuple[str, ...], list[str]] = {}
    first: dict[tuple[str, ...], CountersShort] = {}
    for reason, names in groups:
        key = held_counter_sets(reason)
        alike.setdefault(key, []).extend(names)
        first.setdefault(key, reason)
    for key, devices in alike.items():
        yield f"{'; '.join(key)}: {_counted(devices)}; {_short_names(devices)[0]} {short_counters(first[key])}"


def _named(reasons: Iterable[tuple[DeviceReason, tuple[str, ...]]]) -> Iterator[str]:
    for reason, names in reasons:
        text = particulars(reason)
        colon = "" if isinstance(reason, InUse) or not text else ":"
        yield f"{_counted(names)}{colon} {text}".rstrip()


def _counted(names: Sequence[str]) -> str:
    return some_of(_short_names(names))


def _short_names(names: Sequence[str]) -> list[str]:
    """Drop driver and pool, which most of the time are the same for all devices of a node."""
    return [name.rpartition("/")[2] for name in names]


def _conflicts(node: NodeExplanation) -> Iterator[str]:
    """Yield the conflicts that the requests alone do not tell already."""
    enough = {(claim.claim, _parent(request)) for claim in node.claims for request in claim.requests if request.enough}
    for conflict in node.conflicts:
        if len(conflict.requests) == 1 and not conflict.constraints and not _is_enough(conflict, enough):
            continue
        yield f"  {conflict_text(conflict, with_claims=len(node.claims) > 1)}"


def _parent(request: RequestExplanation) -> str:
    return request.request.partition("/")[0]


def _is_enough(conflict: Conflict, enough: set[tuple[str, str]]) -> bool:
    return (conflict.requests[0].claim, conflict.requests[0].request) in enough
