"""Each rule by which the search leaves something out, by itself.

None may give up what has a solution, which is found by going through all devices; and each gives up the example that it
is there for, so that a rule which stopped working would be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drakit_allocator.defects import COMPATS, Compat
from drakit_allocator.devices.columns import bits
from drakit_allocator.search.board import Board
from drakit_allocator.search.bounds.bounds import Bounds
from drakit_allocator.search.bounds.prices import PriceBound
from drakit_allocator.search.independence import split
from drakit_allocator.search.levels import Outcome
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.propagation import Propagation, bonds_of
from drakit_allocator.search.repair import Known, Repair
from drakit_allocator.search.state import State
from drakit_allocator.search.sums import usable
from drakit_allocator.search.symmetry.parts import Part
from drakit_allocator.search.symmetry.service import Service
from drakit_allocator.search.walk import is_walk_needed
from drakit_api.kubernetes_objects import Object
from tests.allocator.problem_strategies import GPU, problems, selector
from tests.allocator.reference_search import Reference
from tests.allocator.reference_search import TooLong as ReferenceTooLong
from tests.allocator.search_states import SearchState, TooLong, board_of, everything, has_solution, run, states

_many = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
_some = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))

# Rule -> where it is, and what it is when it gives up nothing.
_SEARCH = "drakit_allocator.search."
_PROPAGATION = _SEARCH + "propagation.Propagation."
_RULES: dict[str, tuple[str, Callable[..., Any]]] = {
    "counters over all sets": (_SEARCH + "bounds.totals.Totals.suffice", lambda *_: True),
    "capacity over all shares": (_SEARCH + "bounds.shares.Shares.suffice", lambda *_: True),
    "what parts can give": (_SEARCH + "bounds.offers.Offers.suffice", lambda *_: True),
    "flow over parts": (_SEARCH + "bounds.bounds.Bounds._flow_suffices", lambda *_: True),
    "values for all": (_SEARCH + "bounds.matches.Matches.suffice", lambda *_: True),
    "distinct values": (_SEARCH + "bounds.bounds.Bounds._values_suffice", lambda *_: True),
    "prices": (_SEARCH + "bounds.prices.PriceBound.allows", lambda *_: True),
    "forced devices": (_PROPAGATION + "_fill", lambda _, needs: needs),
    "forced alternatives": (_PROPAGATION + "_decide", lambda _, needs, lists: [one.alternatives for one in lists]),
    "common values": (_PROPAGATION + "_match", lambda _, needs, lists: needs),
}
_PRICE_STEPS = 100


@contextmanager
def _only(*rules: str) -> Iterator[None]:
    """All rules but these give up nothing."""
    assert _RULES.keys() >= set(rules)
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, (place, permissive) in _RULES.items():
            if name not in rules:
                monkeypatch.setattr(place, permissive)
        yield


def _leaves_hope(state: SearchState, *rules: str) -> bool:
    """Whether propagation and bounds, with only these rules, let the state pass."""
    board, mark = state.board, state.board.mark
    with _only(*rules):
        propagation = Propagation(board)
        narrowed = propagation.narrow(state.rest)
        board.back_to(mark)
        if narrowed is None or not _has_enough(state):
            return narrowed is not None
        prices = PriceBound(board)
        is_too_dear = prices.is_useful and not prices.allows(state.rest, _PRICE_STEPS)
        return not is_too_dear and Bounds(board, state.structure, propagation).allow(state.rest)


def _has_enough(state: SearchState) -> bool:
    """Whether each need and list has enough devices if nothing else is filled: no bound is asked before that is so."""
    viable = [Propagation(state.board).viable(item, state.rest.needs, state.rest.lists) for item in state.rest.lists]
    return all(viable) and all(need.mask.bit_count() >= need.missing for need in state.rest.needs)


def _known(state: SearchState, rest: Rest | None = None) -> bool | None:
    try:
        return state.is_solvable(rest)
    except TooLong:
        return None


def _is_solved(state: SearchState, rest: Rest) -> bool:
    """As the search says, from where the board is."""
    board, mark = state.board, state.board.mark
    outcome = run(state.asked.question(rest))
    board.back_to(mark)
    return outcome is Outcome.SOLVED


# What going through all devices says is what the reference says, which shares no code with the board.


@pytest.mark.slow
@_some
@given(problems)
def test_going_through_all_devices_finds_what_the_reference_finds(problem: Object) -> None:
    try:
        answered = Reference(problem, steps=1500).answer()
        if not isinstance(answered, str):
            board = board_of(problem)
            assert is_walk_needed(board) or has_solution(board, everything(board)) is (answered is not None)
    except (TooLong, ReferenceTooLong):
        pass


# No rule gives up what has a solution.


@pytest.mark.slow
@pytest.mark.parametrize("rule", _RULES)
@_some
@given(state=states)
def test_no_rule_gives_up_what_has_a_solution(rule: str, state: SearchState) -> None:
    if not _leaves_hope(state, rule):
        assert _known(state) is not True


@pytest.mark.slow
@_many
@given(st.integers(-5, 300), st.lists(st.integers(1, 120), min_size=1, max_size=4))
def test_what_no_sum_reaches_cannot_be_used(room: int, amounts: list[int]) -> None:
    reached = [0]
    for total in range(1, room + 1):
        if any(total - amount in reached for amount in amounts):
            reached.append(total)
    assert usable(room, tuple(amounts)) == reached[-1]


@pytest.mark.slow
@_many
@given(states)
def test_a_search_solves_what_has_a_solution_and_nothing_else(state: SearchState) -> None:
    expected = _known(state)
    if expected is not None:
        assert _is_solved(state, state.rest) is expected


@pytest.mark.slow
@_many
@given(states, st.integers(0, 3))
def test_who_gave_up_knows_nothing_that_is_wrong(state: SearchState, patience: int) -> None:
    board, mark, expected = state.board, state.board.mark, _known(state)
    outcome = run(state.asked.try_out(state.rest, patience))
    board.back_to(mark)
    if expected is not None:
        assert (outcome is Outcome.SOLVED) is expected or (expected and state.asked.gave_up)
        assert _is_solved(state, state.rest) is expected


@pytest.mark.slow
@_many
@given(states)
def test_what_is_found_without_looking_back_is_a_solution(state: SearchState) -> None:
    board, mark, before, expected = state.board, state.board.mark, list(state.board.held), _known(state)
    outcome = run(Repair(board, state.asked).attempt(state.rest, None))
    chosen = (
        [Need.whole(state.asked.propagation.chosen[item]) for item in state.rest.lists] if board.mark > mark else []
    )
    if outcome is Outcome.SOLVED:
        assert expected is not False
        for demand, missing, mask in [*state.rest.needs, *chosen]:
            assert (board.held[demand.number] & ~before[demand.number] & mask).bit_count() == missing
    else:
        assert board.mark == mark


@pytest.mark.slow
@_many
@given(states)
def test_consequences_change_nothing(state: SearchState) -> None:
    expected, mark = _known(state), state.board.mark
    narrowed = Propagation(state.board).narrow(state.rest)
    found = narrowed is not None and _known(state, narrowed)
    state.board.back_to(mark)
    assert expected is None or found is None or found is expected


@pytest.mark.slow
@_some
@given(states)
def test_independent_groups_have_solutions_if_the_whole_has_one(state: SearchState) -> None:
    expected = _known(state)
    groups = split(state.board, state.structure, state.rest)
    found = [_known(state, group) for group in groups]
    if expected is not None and None not in found:
        assert all(found) is expected


@pytest.mark.slow
@_some
@given(states)
def test_needs_that_are_put_together_have_the_same_solutions(state: SearchState) -> None:
    merged, _ = state.asked.merged(state.rest)
    expected, found = _known(state), _known(state, merged)
    assert expected is None or found is None or found is expected


def _with(state: SearchState, need: Need, position: int) -> bool | None:
    try:
        return state.is_solvable_with(need, position, need.after(position))
    except TooLong:
        return None


@pytest.mark.slow
@_some
@given(states)
def test_devices_that_are_alike_are_in_as_many_solutions(state: SearchState) -> None:
    described = State(state.structure, state.rest)
    for need in state.rest.needs:
        left = need.mask
        while left:
            position = (left & -left).bit_length() - 1
            alike = described.alike(position) & need.mask
            assert alike >> position & 1
            assert len({_with(state, need, one) for one in bits(alike)} - {None}) <= 1
            left &= ~alike


@pytest.mark.slow
@_some
@given(states)
def test_equal_keys_mean_equal_ends(state: SearchState) -> None:
    board, mark = state.board, state.board.mark
    ends: dict[Any, set[bool]] = {}
    for need in state.rest.needs:
        for position in bits(need.mask):
            board.put(need.demand, position)
            rest = state.rest.instead(need, need.after(position))
            narrowed = Rest([one.within(board.open_to(one.demand)) for one in rest.needs if one.missing], rest.lists)
            end = _known(state, narrowed)
            if end is not None:
                ends.setdefault(State(state.structure, narrowed).key(), set()).add(end)
            board.back_to(mark)
    assert all(len(found) == 1 for found in ends.values())


@pytest.mark.slow
@_some
@given(states)
def test_a_class_of_devices_is_tried_for_all_that_are_alike(state: SearchState) -> None:
    expected = _known(state)
    for need in state.rest.needs:
        for mask, alike in State(state.structure, state.rest).cells(need):
            with_it = _known(state, state.rest.confined(need, mask & need.mask))
            without = _known(state, state.rest.instead(need, need.without(alike)))
            if None not in (expected, with_it, without):
                assert (with_it or without) is expected


@pytest.mark.slow
@_some
@given(states)
def test_values_that_are_left_out_are_like_one_that_is_tried(state: SearchState) -> None:
    board, mark, expected = state.board, state.board.mark, _known(state)
    for bond in bonds_of(state.rest.needs, []):
        values = Propagation(board).values(bond)
        if values is None:
            continue
        families = {state.structure.kinds.family(column) for _, column in bond.needs}
        found = []
        for value in State(state.structure, state.rest).different(families.pop(), values):
            board.impose(bond.number, frozenset((value,)))
            found.append(_known(state))
            board.back_to(mark)
        if expected is not None and None not in found:
            assert any(found) is expected


@pytest.mark.slow
@_some
@given(states)
def test_an_offer_is_what_can_be_taken_of_a_part(state: SearchState) -> None:
    board = state.board
    for part in state.structure.joint:
        if state.structure.has_offers(part) and len(part.positions) <= 10:
            looks = tuple(range(0, part.look_count, 2))
            assert Service(board).offer(part, looks) == _greatest(board, part, looks)


def _greatest(board: Board, part: Part, looks: Sequence[int]) -> frozenset[tuple[int, ...]]:
    """The numbers of devices of each look that fit together, and to which nothing can be added."""
    found = set()
    usable = [
        place for place, one in enumerate(part.positions) if board.untaken >> one & 1 and part.looks[place] in looks
    ]
    for choice in product([False, True], repeat=len(usable)):
        places = [place for place, chosen in zip(usable, choice, strict=True) if chosen]
        left = [board.partitions.free[counter] for counter in part.counters]
        for place in places:
            for counter, amount in part.draws[place]:
                left[counter] -= amount
        drawn = {counter for place in places for counter, _ in part.draws[place]}
        if all(left[counter] >= 0 for counter in drawn):
            found.add(tuple([sum(part.looks[place] == look for place in places) for look in range(part.look_count)]))
    return frozenset(
        one for one in found if not any(other != one and all(map(int.__ge__, other, one)) for other in found)
    )


# Each rule gives up its own example.


def _problem(devices: list[Object], requests: list[Object], *, sets: Object | None = None, **constraint: str) -> Object:
    """One claim; ``constraint`` is for all requests."""
    constraints = [{kind: f"{GPU}/{name}"} for kind, name in constraint.items()]
    return _with_constraints(devices, requests, constraints, sets)


def _with_constraints(
    devices: list[Object], requests: list[Object], constraints: list[Object], sets: Object | None
) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": GPU, "nodeName": "node-0", "pool": pool}
    counters = [{"name": name, "counters": values} for name, values in (sets or {}).items()]
    claim = {"requests": [{"name": f"r{n}", **one} for n, one in enumerate(requests)], "constraints": constraints}
    return {
        "name": "example",
        "features": {"default137": True},
        "node": {"metadata": {"name": "node-0"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [
            {"metadata": {"name": "counters"}, "spec": {**spec, "sharedCounters": counters}},
            {"metadata": {"name": "devices"}, "spec": {**spec, "devices": devices}},
        ],
        "claims": [{"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": claim}}],
    }


def _exactly(count: int = 1, *selectors: Object, **more: Any) -> Object:
    return {"exactly": _mode(count, *selectors, **more)}


def _mode(count: int, *selectors: Object, **more: Any) -> Object:
    return {
        "deviceClassName": "any",
        "selectors": list(selectors),
        "allocationMode": "ExactCount",
        "count": count,
        **more,
    }


def _first_of(*alternatives: Object) -> Object:
    return {"firstAvailable": [{"name": f"s{number}", **one} for number, one in enumerate(alternatives)]}


def _device(number: int, draws: Object | None = None, **attributes: int) -> Object:
    """``draws``: counter set -> counter -> amount."""
    attributes = {"i": number, **attributes}
    device: Object = {"name": f"d{number}", "attributes": {name: {"int": value} for name, value in attributes.items()}}
    if draws:
        device["consumesCounters"] = [
            {"counterSet": one, "counters": _amounts(**drawn)} for one, drawn in draws.items()
        ]
    return device


def _amounts(**amounts: int) -> Object:
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def _shared(number: int) -> Object:
    capacity = {"bw": {"value": "3", "requestPolicy": {"default": "2"}}}
    return _device(number) | {"allowMultipleAllocations": True, "capacity": capacity}


_PAIRS = [_device(n, {"g": {f"m{n}": 1, f"m{(n + 1) % 3}": 1}}) for n in range(3)]  # any two have a slot in common
_FIRST_TWO = selector("i", "<", 2)


def _one_of(*numbers: int) -> Object:
    return selector("i", "in", list(numbers))


def _matched(*requests: str) -> Object:
    return {"matchAttribute": f"{GPU}/root", "requests": list(requests)}


_SQUARES = [(x, y) for x in range(4) for y in range(4)]
_MUTILATED = [one for one in _SQUARES if one not in {(0, 0), (3, 3)}]  # both corners are of one colour


def _dominoes(squares: Sequence[tuple[int, int]], count: int) -> Object:
    """So many dominoes on a chess board with these squares."""
    names = {one: f"m{number}" for number, one in enumerate(squares)}
    pairs = [(x, y, *other) for x, y in squares for other in ((x + 1, y), (x, y + 1)) if other in names]
    devices = [
        _device(number, {"board": {names[x, y]: 1, names[u, v]: 1}}) for number, (x, y, u, v) in enumerate(pairs)
    ]
    return _problem(devices, [_exactly(count)], sets={"board": _amounts(**dict.fromkeys(names.values(), 1))})


_EXAMPLES = {
    "counters over all sets": _problem(
        [_device(n, {f"g{n % 2}": {"mem": 3}}) for n in range(4)],
        [_exactly()] * 3,
        sets={"g0": _amounts(mem=4), "g1": _amounts(mem=4)},
    ),
    "capacity over all shares": _problem([_shared(0), _shared(1)], [_exactly()] * 4),
    "what parts can give": _problem(_PAIRS, [_exactly()] * 2, sets={"g": _amounts(m0=1, m1=1, m2=1)}),
    "flow over parts": _problem(
        [_device(n) for n in range(5)],
        [_exactly(2, _one_of(0, 1)), _exactly(1, _one_of(1, 2)), _exactly(1, _one_of(0, 2))],
    ),
    "values for all": _with_constraints(
        [_device(n, kind=kind, root=root) for n, (kind, root) in enumerate([(0, 0), (0, 0), (1, 0), (0, 1), (1, 2)])],
        [_exactly(1, selector("kind", "==", n % 2)) for n in range(4)],
        [{"matchAttribute": f"{GPU}/root", "requests": names} for names in (["r0", "r1"], ["r2", "r3"])],
        None,
    ),
    "distinct values": _problem([_device(n, a=n % 2) for n in range(4)], [_exactly()] * 3, distinctAttribute="a"),
    "forced devices": _problem([_device(n) for n in range(3)], [_exactly(2, _FIRST_TWO), _exactly(1, _one_of(1))]),
    "forced alternatives": _problem(
        [_device(n) for n in range(3)], [_exactly(), _first_of(_mode(4), _mode(3, _FIRST_TWO))]
    ),
    "common values": _problem([_device(n, a=n // 2) for n in range(6)], [_exactly()] * 3, matchAttribute="a"),
    "prices": _dominoes(_MUTILATED, 7),
}


def _start(problem: Object, compat: Compat = "upstream") -> SearchState:
    board = board_of(problem, compat)
    state = SearchState("", board, everything(board))
    state.rest, _ = state.asked.merged(state.rest)
    return state


@pytest.mark.parametrize("rule", _RULES)
def test_each_rule_gives_up_its_own_example(rule: str) -> None:
    state = _start(_EXAMPLES[rule])
    assert not has_solution(state.board, state.rest, 20_000)
    assert not _leaves_hope(state, rule)
    assert _leaves_hope(state)


def test_of_a_room_too_large_for_sums_what_the_common_unit_fills_can_be_used() -> None:
    assert usable(10**6 + 1, (4, 6)) == 10**6
    assert usable(10**6 + 1, (4, 7)) == 10**6 + 1


_ODD_ROOMS = {
    "counters over all sets": (
        "partitions.usable",
        _problem(
            [_device(n, {f"g{n % 2}": {"mem": 2}}) for n in range(4)],
            [_exactly()] * 3,
            sets={"g0": _amounts(mem=3), "g1": _amounts(mem=3)},
        ),
    ),
    "capacity over all shares": ("bounds.shares.usable", _problem([_shared(0), _shared(1)], [_exactly()] * 3)),
}


@pytest.mark.parametrize("rule", _ODD_ROOMS)
def test_even_draws_leave_one_of_an_odd_room(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, problem = _ODD_ROOMS[rule]
    state = _start(problem)
    assert not state.is_solvable()
    assert not _leaves_hope(state, rule)
    monkeypatch.setattr(_SEARCH + place, lambda room, _: max(0, room))
    assert _leaves_hope(_start(problem), rule)


def test_dominoes_may_cost_what_the_squares_are_worth() -> None:
    assert _leaves_hope(_start(_dominoes(_MUTILATED, 6)), *_RULES)
    assert _leaves_hope(_start(_dominoes(_SQUARES, 8)), *_RULES)


def _couples() -> Object:
    """Three couples of devices with a common root each, four roots with one device of either kind."""
    devices = [_device(n, kind=n % 2, root=n // 2) for n in range(8)]
    requests = [_exactly(1, selector("kind", "==", n % 2)) for n in range(6)]
    return _with_constraints(devices, requests, [_matched(f"r{n}", f"r{n + 1}") for n in (0, 2, 4)], None)


def test_a_known_solution_is_repaired_with_what_still_fits_kept() -> None:
    """The first couple moves to the root of the second one, which has to go elsewhere; the third one stays."""
    board = board_of(_couples())
    state = SearchState("", board, everything(board))
    first = state.rest.needs[0]
    rest = state.rest.instead(first, first.within(1 << 2))
    assert run(Repair(board, state.asked).attempt(rest, Known([1 << n for n in range(6)], {}))) is Outcome.SOLVED
    assert board.held[:2] == [1 << 2, 1 << 3]
    assert board.held[4:] == [1 << 4, 1 << 5]
    assert sum(board.held[2:4]) in {0b11, 0b11 << 6}


def test_who_finds_no_place_chooses_first_in_the_next_round() -> None:
    """Whoever is placed first takes the only device of the one after, whose couple has no other."""
    devices = [_device(n, root=n // 2) for n in range(4)]
    requests = [_exactly(), _exactly(), _exactly(1, _one_of(0)), _exactly(1, _one_of(1))]
    constraints = [_matched("r0", "r1"), _matched("r2", "r3")]
    board = board_of(_with_constraints(devices, requests, constraints, None))
    state = SearchState("", board, everything(board))
    assert run(Repair(board, state.asked).attempt(state.rest, None)) is Outcome.SOLVED
    assert board.held == [1 << 2, 1 << 3, 1 << 0, 1 << 1]


@pytest.mark.parametrize("patience", range(4))
def test_a_state_in_which_the_search_gave_up_is_not_dead(patience: int) -> None:
    state = _start(_dominoes(_SQUARES, 8))
    assert run(state.asked.try_out(state.rest, patience)) is Outcome.FAILED
    assert state.asked.gave_up
    assert state.board.mark == 0
    assert _is_solved(state, state.rest)


def _never(*_: Any) -> Any:
    raise AssertionError


def test_a_state_that_failed_with_patience_left_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    state = _start(_dominoes(_MUTILATED, 7))
    with _only("forced devices"):
        assert run(state.asked.try_out(state.rest, 10_000)) is Outcome.FAILED
        assert not state.asked.gave_up
        monkeypatch.setattr(_SEARCH + "branches.Branches.tightest", _never)
        assert not _is_solved(state, state.rest)


def test_a_part_that_counters_limit_is_a_limit_of_the_flow() -> None:
    devices = [_device(n, {f"g{n % 2}": {"mem": 3}}) for n in range(4)]
    state = _start(_problem(devices, [_exactly()] * 3, sets={"g0": _amounts(mem=5), "g1": _amounts(mem=5)}))
    assert not _leaves_hope(state, "flow over parts")


@pytest.mark.parametrize("constraints", [[["r0", "r1"]] * 2, [["r0", "r1"], ["r1", "r2"]]], ids=["same", "overlapping"])
def test_constraints_on_the_same_requests_do_not_need_a_value_each(constraints: list[list[str]]) -> None:
    devices = [_device(n, root=n // 3) for n in range(5)]
    requests = [_exactly(1, selector("root", "==", 0)), _exactly(), _exactly(1, selector("root", "!=", 1))]
    problem = _with_constraints(devices, requests, [_matched(*names) for names in constraints], None)
    assert _start(problem).is_solvable()
    assert _leaves_hope(_start(problem), *_RULES)


def test_with_admin_access_one_device_serves_the_constraints_of_two_claims() -> None:
    devices = [_device(0, kind=0, root=0), _device(1, kind=1, root=0), _device(2, root=1)]
    requests = [_exactly(1, selector("kind", "==", kind), adminAccess=True) for kind in (0, 1)]
    problem = _with_constraints(devices[:2], requests, [_matched("r0", "r1")], None)
    problem["claims"] *= 2
    assert _start(problem).is_solvable()
    assert _leaves_hope(_start(problem), *_RULES)


def test_constraints_with_different_values_left_are_told_apart() -> None:
    """The first one has to do with two of the three values, which is too little for all."""
    tags = [[0], [0], [1], [1], [0, 2], [1, 2], [0, 1]]
    devices = [_device(n, kind=2 if n == 6 else n % 2) for n in range(7)]
    for device, values in zip(devices, tags, strict=True):
        device["attributes"]["root"] = {"ints": values}
    one, other, first = (_exactly(1, selector("kind", "==", kind)) for kind in range(3))
    requests = [first, *[one, other] * 3]
    constraints = [_matched("r0", "r1", "r2"), _matched("r3", "r4"), _matched("r5", "r6")]
    problem = _with_constraints(devices, requests, constraints, None) | {"features": {"all": True}}
    state = _start(problem)
    state.board.put(state.board.demands[0], 6)
    needs = [need.within(state.board.open_to(need.demand)) for need in state.rest.needs if need.demand.number]
    state.rest = Rest(needs, [])
    assert state.is_solvable()
    assert _leaves_hope(state, *_RULES)


def test_what_is_asked_of_one_part_has_to_fit_in_it() -> None:
    devices = [_device(n, {"g": {"c": 2 if n == 0 else 1}}) for n in range(4)]
    requests = [_exactly(1, _one_of(0)), _exactly(1, _one_of(1, 2, 3))]
    assert not _leaves_hope(_start(_problem(devices, requests, sets={"g": _amounts(c=2)})), "what parts can give")
    assert _leaves_hope(_start(_problem(devices, requests, sets={"g": _amounts(c=3)})), *_RULES)


def test_admin_access_does_not_keep_the_others_from_being_counted() -> None:
    devices = [_device(n) for n in range(5)]
    requests = [_exactly(2, _one_of(0, 1)), _exactly(1, _one_of(1, 2)), _exactly(1, _one_of(0, 2))]
    state = _start(_problem(devices, [*requests, _exactly(2, adminAccess=True)]))
    assert not state.is_solvable()
    assert not _leaves_hope(state, "flow over parts")
    assert _leaves_hope(_start(_problem(devices, [*requests[:2], _exactly(2, adminAccess=True)])), *_RULES)


@pytest.mark.parametrize("compat", COMPATS)
def test_admin_access_costs_what_it_draws(compat: Compat) -> None:
    """Two dominoes of it, which Kubernetes charges for, next to others on fourteen squares."""

    def state_with(count: int) -> SearchState:
        problem = _dominoes(_MUTILATED, count)
        problem["claims"][0]["spec"]["devices"]["requests"].append({"name": "admin", **_exactly(2, adminAccess=True)})
        return _start(problem, compat)

    assert not _leaves_hope(state_with(7), "prices")
    assert _leaves_hope(state_with(6), "prices") is (compat == "safe")
    assert _leaves_hope(state_with(4), *_RULES)
    assert compat == "upstream" or state_with(6).is_solvable()


@pytest.mark.parametrize(("admins", "gives_twice"), [((), False), ((0,), False), ((1,), True), ((0, 1), True)])
def test_admin_access_gives_again_what_a_claim_before_it_has(admins: tuple[int, ...], gives_twice: bool) -> None:
    """The devices of its own claim it minds as everybody does."""
    problem = _problem([_device(0)], [])
    claims = [{"requests": [{"name": "r", **_exactly(adminAccess=number in admins)}]} for number in range(2)]
    problem["claims"] = [
        {"metadata": {"name": f"c{number}", "namespace": "ns"}, "spec": {"devices": devices}}
        for number, devices in enumerate(claims)
    ]
    state = _start(problem)
    assert state.board.gives_twice is gives_twice
    assert state.is_solvable() is gives_twice
    assert _is_solved(state, state.rest) is gives_twice


@pytest.mark.parametrize(("count", "is_needed"), [(32, True), (33, False)])
def test_what_is_too_large_for_a_claim_visits_no_device(count: int, is_needed: bool) -> None:
    """Mode All ends with an error at the second of these devices, if it comes so far."""
    devices = [_device(number, a=0) for number in range(count)]
    requests = [_first_of({"deviceClassName": "any", "allocationMode": "All"}, _mode(1))]
    assert is_walk_needed(board_of(_problem(devices, requests, distinctAttribute="a"))) is is_needed


@pytest.mark.parametrize("is_list", [True, False])
def test_another_alternative_is_no_reason_for_a_conflict(*, is_list: bool) -> None:
    """Mode All wants one device, which no other request is given one next to if there is only the list."""
    devices = [_device(number, a=number) for number in range(2)]
    one, all_of_them = _mode(1), {"deviceClassName": "any", "allocationMode": "All", "selectors": [_one_of(0)]}
    requests = [_first_of(one, all_of_them)] if is_list else [{"exactly": one}, {"exactly": all_of_them}]
    board = board_of(_problem(devices, requests, matchAttribute="a"))
    assert is_walk_needed(board) is not is_list


def test_identical_devices_are_alike() -> None:
    state = _start(_problem([_device(n) for n in range(4)], [_exactly(5)]))
    assert State(state.structure, state.rest).alike(2) == 0b1111


def test_devices_at_the_same_place_of_parts_that_are_alike_are_alike() -> None:
    devices = [_device(n, {f"g{n // 3}": {f"m{n % 3}": 1, "m0": 1}}, size=n % 3) for n in range(9)]
    sets = {f"g{gpu}": _amounts(m0=2, m1=1, m2=1) for gpu in range(3)}
    state = _start(_problem(devices, [_exactly(3)], sets=sets))
    assert State(state.structure, state.rest).alike(1) & 0b010010010 == 0b010010010
    state.board.put(state.board.demands[0], 3)
    after = Rest([need.after(3).within(state.board.open_to(need.demand)) for need in state.rest.needs], [])
    assert State(state.structure, after).alike(1) & 0b010010010 == 0b010000010


def test_values_of_devices_that_are_alike_are_tried_once() -> None:
    state = _start(_problem([_device(n, a=n // 2) for n in range(8)], [_exactly()] * 2, matchAttribute="a"))
    (bond,) = bonds_of(state.rest.needs, [])
    values = Propagation(state.board).values(bond) or []
    family = state.structure.kinds.family(bond.needs[0][1])
    assert len(values) == 4
    assert len(State(state.structure, state.rest).different(family, values)) == 1


def test_states_that_are_alike_have_the_same_key() -> None:
    state = _start(_problem([_device(n) for n in range(4)], [_exactly(3)]))
    board, (need,) = state.board, state.rest.needs
    keys = set()
    for position in range(4):
        board.put(need.demand, position)
        keys.add(State(state.structure, state.rest.instead(need, need.after(position))).key())
        board.back_to(0)
    assert len(keys) == 1


def test_requests_for_different_devices_are_filled_separately() -> None:
    requests = [_exactly(1, selector("i", "<", 2)), _exactly(1, selector("i", ">=", 2))]
    state = _start(_problem([_device(n) for n in range(4)], requests))
    assert len(split(state.board, state.structure, state.rest)) == 2


def test_equal_requests_are_one() -> None:
    state = _start(_problem([_device(n) for n in range(4)], [_exactly()] * 5))
    assert [need.missing for need in state.rest.needs] == [5]


def test_an_offer_knows_what_does_not_fit_side_by_side() -> None:
    state = _start(_EXAMPLES["what parts can give"])
    (part,) = state.structure.joint
    assert state.structure.service.offer(part, (0,)) == frozenset([(1,)])


@pytest.mark.parametrize("groups", [[], ["x"]])
def test_parts_are_parts_unless_devices_have_compatibility_groups(groups: list[str]) -> None:
    devices = [_device(n, {f"g{n % 2}": {"c": 1}}) for n in range(8)]
    devices[0]["consumesCounters"][0]["compatibilityGroups"] = groups
    sets = {"g0": _amounts(c=2), "g1": _amounts(c=2)}
    state = _start(_problem(devices, [_exactly(5)], sets=sets) | {"features": {"all": True}})
    assert len(state.structure.joint) == (1 if groups else 2)
    assert _leaves_hope(state, "what parts can give") is bool(groups)
