"""Random states of searches, and whether they have a solution: found by going through all devices, without any rule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.defects import Compat
from drakit_allocator.devices.columns import bits
from drakit_allocator.errors import AllocationError
from drakit_allocator.inputs.problems import features_of
from drakit_allocator.nodes import Node
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.feasibility import Feasibility
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.values import Match
from drakit_allocator.search.walk import is_walk_needed
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object
from tests.allocator.problem_strategies import GPU, attribute, problem_of

_STEPS = 2000


class TooLong(Exception):
    """More steps than anybody wants to wait for."""


def board_of(problem: Object, compat: Compat = "upstream") -> Board:
    """The board of a problem, with nothing on it. Raises ``AllocationError``."""
    features = features_of(problem).compatible(compat)
    snapshot = Snapshot(features, slices=problem["slices"], classes=problem["classes"])
    pod = PodAllocation(problem["claims"], snapshot, AllocatedState.of(problem.get("allocated") or (), features))
    situation = pod.situation(Node.of(problem["node"]))
    return Board(situation, pod.claims, situation.candidates(pod.claims))


def everything(board: Board) -> Rest:
    """All that is to be filled on an empty board."""
    needs = [Need.whole(item.alternatives[0]) for item in board.items if not item.is_list]
    return Rest(needs, [item for item in board.items if item.is_list])


def has_solution(board: Board, rest: Rest, steps: int = _STEPS) -> bool:
    """Whether the rest can be filled. The board stays as it was. Raises ``TooLong``."""
    mark = board.mark
    try:
        return _Trial(board, steps).fills(rest.needs, rest.lists)
    finally:
        board.back_to(mark)


class _Trial:
    def __init__(self, board: Board, steps: int) -> None:
        self._board = board
        self._steps = steps

    def fills(self, needs: Sequence[Need], lists: Sequence[Item]) -> bool:
        """One list after the other by each of its alternatives, then one need after the other."""
        self._steps -= 1
        if self._steps < 0:
            raise TooLong
        if lists:
            usable = [demand for demand in lists[0].alternatives if not demand.is_impossible]
            return any(self.fills([*needs, Need.whole(demand)], lists[1:]) for demand in usable)
        if not needs:
            return True
        (demand, missing, mask), *others = needs
        if demand.is_impossible:
            return False
        return self._puts(demand, mask, missing, others)

    def _puts(self, demand: Demand, mask: int, missing: int, others: Sequence[Need]) -> bool:
        if not missing:
            return self.fills(others, ())
        for position in bits(mask & self._board.open_to(demand)):
            mark = self._board.mark
            self._board.put(demand, position)
            if self.fills([Need(demand, missing - 1, mask & (-1 << position + 1)), *others], ()):
                return True
            self._board.back_to(mark)
        return False


def run(level: Level) -> Outcome:
    """How a level of a search ends."""
    stack = [level]
    outcome: Outcome | None = None
    while stack:
        try:
            stack.append(next(stack[-1]) if outcome is None else stack[-1].send(outcome))
            outcome = None
        except StopIteration as ended:
            stack.pop()
            outcome = ended.value
    assert outcome is not None
    return outcome


class SearchState:
    """Something on a board, and what is still to be filled."""

    def __init__(self, name: str, board: Board, rest: Rest) -> None:
        self.name = name
        self.board = board
        self.asked = Feasibility(board)
        self.structure = self.asked.structure
        self.rest = rest

    def __repr__(self) -> str:
        return f"state_of({self.name!r})"

    def is_solvable(self, rest: Rest | None = None) -> bool:
        """Whether this rest, or all that is to be filled, has a solution. Raises ``TooLong``."""
        return has_solution(self.board, self.rest if rest is None else rest)

    def is_solvable_with(self, need: Need, position: int, after: Need) -> bool:
        """Whether what remains of the rest has a solution when the need gets this device."""
        mark = self.board.mark
        self.board.put(need.demand, position)
        try:
            return has_solution(self.board, self.rest.instead(need, after))
        finally:
            self.board.back_to(mark)


def state_of(name: str) -> SearchState | None:
    """A state of the problem with this seed; None if there is none, or the order of visits is part of the answer."""
    random = Random(name)
    make = random.choice([_gpus, _gpus, _plain, None])
    problem = problem_of(name) if make is None else make(random)
    try:
        board = board_of(problem)
    except AllocationError:
        return None
    if is_walk_needed(board) or any(one.is_impossible for item in board.items for one in item.alternatives[:1]):
        return None
    state = SearchState(name, board, everything(board))  # it describes what is open at the beginning
    state.rest = _progress(board, state.rest, random)
    return state


def _progress(board: Board, rest: Rest, random: Random) -> Rest:
    """Take some steps that a search might take, right or wrong."""
    needs = list(rest.needs)
    lists = []
    for item in rest.lists:
        usable = [demand for demand in item.alternatives if not demand.is_impossible]
        if usable and random.random() < 0.5:
            needs.append(Need.whole(random.choice(usable)))
        else:
            lists.append(item)
    for _ in range(random.choice([0, 0, 1, 1, 2, 3])):
        _put_some(board, needs, random)
    if random.random() < 0.3:
        _impose_some(board, needs, random)
    if needs and random.random() < 0.3:
        index = random.randrange(len(needs))
        given_up = sum(1 << position for position in bits(needs[index].mask) if random.random() < 0.3)
        needs[index] = needs[index].without(given_up)
    needs = [need.within(board.open_to(need.demand)) for need in needs if need.missing]
    random.shuffle(needs)
    return Rest(needs, lists)


def _put_some(board: Board, needs: list[Need], random: Random) -> None:
    usable = [number for number, need in enumerate(needs) if need.missing and not need.demand.is_impossible]
    if not usable:
        return
    number = random.choice(usable)
    need = needs[number]
    positions = bits(need.mask & board.open_to(need.demand))
    if positions:
        position = random.choice(positions)
        board.put(need.demand, position)
        needs[number] = need.after(position)


def _impose_some(board: Board, needs: Sequence[Need], random: Random) -> None:
    ties = [tie for need in needs for tie in need.demand.ties if isinstance(board.states[tie[0]], Match)]
    if ties:
        number, column = random.choice(ties)
        common = board.states[number].common  # type: ignore[union-attr]
        values = [value for value in column.groups if common is None or value in common]
        if values:
            board.impose(number, frozenset(random.sample(values, random.choice([1, 1, min(2, len(values))]))))


def _gpus(random: Random) -> Object:
    """A few GPUs that are cut into partitions: parts that are alike, and in which what fits is a matter of place."""
    slots, width = random.choice([3, 4]), random.choice([1, 2])
    sets, devices = [], []
    for gpu in range(random.choice([1, 2, 2, 3])):
        counters = {f"m{slot}": {"value": "1"} for slot in range(slots)} | {"c": {"value": str(slots)}}
        sets.append({"name": f"g{gpu}", "counters": counters})
        for size in (1, 2):
            for start in range(0, slots - size + 1, random.choice([1, size])):
                drawn = {f"m{slot}": {"value": "1"} for slot in range(start, start + size)} | {
                    "c": {"value": str(size)}
                }
                attributes = {"size": size, "numa": gpu // width, "gpu": gpu, "half": start // 2}
                if random.random() < 0.9:
                    devices.append(_device(f"g{gpu}-{size}-{start}", attributes, f"g{gpu}", drawn))
    nics = [_device(f"n{number}", {"size": 0, "numa": number // 2}) for number in range(random.choice([0, 1, 2, 3]))]
    forms = ["true", "{} == 1", "{} == 1", "{} == 2", "{} >= 1", *["{} == 0", "{} < 2"] * bool(nics)]
    expressions = [form.format(attribute("size")) for form in forms]
    return _problem(random, sets, devices + nics, _claim(random, expressions, ["gpu", "numa", "numa", "half"]))


def _plain(random: Random) -> Object:
    """Devices of two or three kinds that draw from nothing: most of them are alike."""
    kinds = random.choice([2, 2, 3])
    devices = [
        _device(f"d{number}", {"i": number, "kind": number % kinds, "numa": number // 3, "pcie": number // 2})
        for number in range(random.randint(3, 9))
    ]
    kind, place = attribute("kind"), attribute("i")
    expressions = ["true", f"{kind} == 0", f"{kind} == 1", f"{kind} != 1", f"{place} < 3", f"{place} > 2"]
    return _problem(random, [], devices, _claim(random, expressions, ["kind", "numa", "pcie"]))


def _problem(random: Random, sets: list[Object], devices: list[Object], claim: Object) -> Object:
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": GPU, "nodeName": "node-0", "pool": pool}
    return {
        "name": "state",
        "features": {random.choice(["all", "default137", "default137"]): True},
        "node": {"metadata": {"name": "node-0"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [
            {"metadata": {"name": "counters"}, "spec": {**spec, "sharedCounters": sets}},
            {"metadata": {"name": "devices"}, "spec": {**spec, "devices": devices}},
        ],
        "claims": [claim],
        "allocated": [],
    }


def _device(name: str, attributes: dict[str, int], counter_set: str = "", drawn: Object | None = None) -> Object:
    device: Object = {"name": name, "attributes": {key: {"int": value} for key, value in attributes.items()}}
    if counter_set:
        device["consumesCounters"] = [{"counterSet": counter_set, "counters": drawn}]
    return device


def _claim(random: Random, expressions: list[str], attributes: list[str]) -> Object:
    requests: list[Object] = []
    for number in range(random.choice([2, 3, 3, 4])):
        if random.random() < 0.2:
            alternatives = [{"name": f"s{one}", **_request(random, expressions)} for one in range(2)]
            requests.append({"name": f"r{number}", "firstAvailable": alternatives})
        else:
            requests.append({"name": f"r{number}", "exactly": _request(random, expressions)})
    kinds = random.choice([[], ["matchAttribute"], ["matchAttribute"], ["distinctAttribute"], ["matchAttribute"] * 2])
    constraints: list[Any] = [{kind: f"{GPU}/{random.choice(attributes)}"} for kind in kinds]
    for constraint in constraints:
        if random.random() < 0.4:
            constraint["requests"] = [one["name"] for one in random.sample(requests, 2)]
    devices = {"requests": requests, "constraints": constraints}
    return {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": devices}}


def _request(random: Random, expressions: list[str]) -> Object:
    return {
        "deviceClassName": "any",
        "selectors": [{"cel": {"expression": random.choice(expressions)}}],
        "allocationMode": "ExactCount",
        "count": random.choice([1, 1, 1, 2]),
    }


def _first_state(seed: int) -> SearchState:
    """The first one that there is from this seed on."""
    return next(state for number in itertools.count() if (state := state_of(f"state-{seed + number}")) is not None)


states: st.SearchStrategy[SearchState] = st.integers(0, 2**40).map(_first_state)
