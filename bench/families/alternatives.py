"""Prioritized lists: combinations of subrequests, of which only late ones, or none, go together."""

from __future__ import annotations

from itertools import product
from random import Random

from bench.families.parts import (
    claim,
    claims,
    device,
    distinct,
    exactly,
    first_of,
    match,
    pool,
    problem,
    request,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object


def _sized(count: int, sizes: int) -> list[Object]:
    """Enough devices of each size, which they draw from one counter."""
    return [
        device(f"d{size}-{at:02}", {"s": {"c": size}}, size=size) for size in range(sizes, 0, -1) for at in range(count)
    ]


def _of_size(size: int, count: int = 1) -> Object:
    return exactly(where("size", "==", size), count=count)


@family(4, 6, 8, 12, 16, 24, 32)
def _eight_sizes_and_little_room(n: int, random: Random) -> Object:
    """n lists from the largest to the smallest size, with room for hardly more than the smallest."""
    asked = [first_of(f"r{at:02}", (_of_size(size) for size in range(8, 0, -1))) for at in range(n)]
    return problem(pool(_sized(n, 8), {"s": {"c": n + 5}}), [claim(asked)])


@family(4, 6, 8, 12, 16, 24, 32)
def _eight_sizes_and_no_room(n: int, random: Random) -> Object:
    """One less than the smallest need."""
    asked = [first_of(f"r{at:02}", (_of_size(size) for size in range(8, 0, -1))) for at in range(n)]
    return problem(pool(_sized(n, 8), {"s": {"c": n - 1}}), [claim(asked)])


@family(4, 6, 8, 12, 16, 24, 32)
def _odd_sizes_and_even_room(n: int, random: Random) -> Object:
    """Two counters that add up: all sums are of another parity than what must be drawn."""
    devices = [
        device(f"d{size:02}-{at:02}", {"s": {"up": size, "down": 40 - size}}, size=size)
        for size in range(15, 0, -2)
        for at in range(n)
    ]
    asked = [first_of(f"r{at:02}", (_of_size(size) for size in range(15, 0, -2))) for at in range(n)]
    room = 6 * n + 1 + (n % 2)
    return problem(pool(devices, {"s": {"up": room, "down": 40 * n - room}}), [claim(asked)])


@family(3, 4, 5, 6, 8, 10)
def _counts_from_eight_down(n: int, random: Random) -> Object:
    """Each list asks for eight devices, or seven, ...; there are two for each, and distinct ones."""
    devices = [device(f"d{at:02}", at=at, half=at % 2) for at in range(2 * n)]
    asked = [
        first_of(f"r{at:02}", (exactly(where("half", "==", at % 2), count=count) for count in range(8, 1, -1)))
        for at in range(n)
    ]
    return problem(pool(devices), [claim(asked, distinct("at"))])


@family(3, 4, 5, 6, 8, 12)
def _counts_and_the_limit(n: int, random: Random) -> Object:
    """32 devices are all that a claim may have; devices would be enough for more."""
    devices = [device(f"d{at:03}", at=at) for at in range(20 * n)]
    asked = [first_of(f"r{at:02}", (exactly(count=count) for count in (16, 9, 5, 3, 2))) for at in range(n)]
    return problem(pool(devices), [claim([*asked, request("last", exactly(count=32 - 2 * n - 1))])])


@family(6, 10, 14, 18, 22, 26, 32)
def _satisfiability_by_lists(n: int, random: Random) -> Object:
    """A list is a variable with two values; clauses are counters that bear two false literals."""
    clauses = [(random.sample(range(n), 3), [random.random() < 0.5 for _ in range(3)]) for _ in range(int(4.2 * n))]
    devices = []
    for variable, value in product(range(n), (0, 1)):
        draws: dict[str, dict[str, int]] = {}
        for at, (of_clause, signs) in enumerate(clauses):
            if variable in of_clause and signs[of_clause.index(variable)] != bool(value):
                draws.setdefault(f"k{at // 32}", {})[f"c{at}"] = 1
        devices.append(device(f"x{variable:02}-{value}", draws, variable=variable, value=value))
    groups = range((len(clauses) + 31) // 32)
    counters = {f"k{group}": {f"c{at}": 2 for at in range(len(clauses)) if at // 32 == group} for group in groups}
    asked = [
        first_of(f"r{at:02}", (exactly(where("variable", "==", at), where("value", "==", value)) for value in (1, 0)))
        for at in range(n)
    ]
    return problem(pool(devices, counters), [claim(asked)])


@family(4, 6, 8, 12, 16, 24, 32)
def _four_constraints_on_sizes(n: int, random: Random) -> Object:
    """Each subrequest has a device of its own with random draws from four counters; about half are solvable."""
    devices, total = [], [0] * 4
    for item, option in product(range(n), range(8)):
        weights = [random.randint(0, 30) for _ in range(4)]
        total = [a + b for a, b in zip(total, weights, strict=True)]
        devices.append(
            device(f"i{item:02}-{option}", {"s": {f"c{k}": w for k, w in enumerate(weights)}}, item=item, option=option)
        )
    counters = {"s": {f"c{k}": int(one / 8 * 0.6) for k, one in enumerate(total)}}
    asked = [
        first_of(
            f"r{item:02}", (exactly(where("item", "==", item), where("option", "==", option)) for option in range(8))
        )
        for item in range(n)
    ]
    return problem(pool(devices, counters), [claim(asked)])


@family(4, 6, 8, 12, 16, 24)
def _kinds_that_must_agree(n: int, random: Random) -> Object:
    """Lists of eight kinds; all must come from one rack, and each rack lacks the kinds that one of the lists has."""
    devices = [
        device(f"d{rack}-{kind:02}", rack=rack, kind=kind)
        for rack in range(8)
        for kind in range(16)
        if kind % 8 != rack or kind >= 12
    ]
    lists = [random.sample(range(12), 7) for _ in range(n - 8)] + [
        [kind, kind + 8] if kind < 4 else [kind] for kind in range(8)
    ]
    asked = [
        first_of(f"r{at:02}", (exactly(where("kind", "==", kind)) for kind in kinds)) for at, kinds in enumerate(lists)
    ]
    return problem(pool(devices), [claim(asked, match("rack"))])


@family(4, 6, 8, 12, 16, 24, 32)
def _constraint_on_one_subrequest(n: int, random: Random) -> Object:
    """Only the first alternatives must agree, and they cannot; of the second ones there are too few."""
    devices = [device(f"a{at:02}", kind="a", rack=at) for at in range(n)]
    devices += [device(f"b{at:02}", kind="b", rack=at) for at in range(n - 2)]
    asked = [
        first_of(f"r{at:02}", [exactly(where("kind", "==", "a")), exactly(where("kind", "==", "b"))]) for at in range(n)
    ]
    return problem(pool(devices), [claim(asked, match("rack", *(f"r{at:02}/s0" for at in range(n))))])


@family(2, 4, 6, 8, 12, 16)
def _claims_of_lists(n: int, random: Random) -> Object:
    """Two lists a claim, for four devices of one rack rather than two or one; the last claim wants a rack."""
    devices = [device(f"d{rack:02}-{at}", rack=rack) for rack in range(n) for at in range(4)]
    each = [
        [first_of(f"r{at}", (exactly(count=count) for count in (4, 3, 2, 1))) for at in range(2)]
        for _ in range(2 * n - 2)
    ]
    return problem(
        pool(devices), claims([*each, [request("r", exactly(count=4))], [request("r", exactly())]], match("rack"))
    )


@family(4, 6, 8, 12, 16, 24, 32)
def _rooks_by_lists(n: int, random: Random) -> Object:
    """A list of up to eight columns for each row; columns are drawn, and one too few is in the lists."""
    columns = [sorted(random.sample(range(n - 1), min(8, n - 1)), reverse=bool(row % 2)) for row in range(n)]
    devices = [
        device(f"q{row:02}-{column:02}", {"c": {f"c{column}": 1}}, row=row, column=column)
        for row in range(n)
        for column in sorted(columns[row])
    ]
    asked = [
        first_of(
            f"r{row:02}", (exactly(where("row", "==", row), where("column", "==", column)) for column in columns[row])
        )
        for row in range(n)
    ]
    return problem(pool(devices, {"c": {f"c{at}": 1 for at in range(n)}}), [claim(asked)])


@family(3, 4, 5, 6, 7, 8)
def _counts_that_fill_exactly(n: int, random: Random) -> Object:
    """Lists of counts that add up to what there is in each of two kinds only in one combination, or in none."""
    chosen = [random.randint(1, 8) for _ in range(n)]
    per = [sum(1 + one % 3 for one in chosen), sum(4 - one % 3 for one in chosen)]
    devices = [
        device(f"{kind}{at:02}", kind=kind, at=at) for kind, count in zip("ab", per, strict=True) for at in range(count)
    ]
    each = []
    for at, one in enumerate(chosen):
        first = [exactly(where("kind", "==", "a"), count=1 + (one + shift) % 3) for shift in (2, 1, 0)]
        second = [exactly(where("kind", "==", "b"), count=4 - (one + shift) % 3) for shift in (1, 2, 0)]
        each.append([first_of(f"a{at}", first), first_of(f"b{at}", second)])
    last = [request("last", exactly())]
    return problem(pool(devices), claims([*each, last] if n % 2 else each))
