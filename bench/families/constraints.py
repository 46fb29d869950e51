"""Constraints over attributes: chains, cycles and cliques of matchAttribute and distinctAttribute."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

from bench.families.parts import (
    Version,
    claim,
    claims,
    device,
    distinct,
    exactly,
    match,
    pool,
    problem,
    request,
    requests,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object


def _any(count: int) -> list[Object]:
    return requests(exactly() for _ in range(count))


def _names(asked: list[Object]) -> list[str]:
    return [one["name"] for one in asked]


@family(4, 6, 8, 10, 14, 20, 32)
def _chain_of_matches(n: int, random: Random) -> Object:
    """r0 and r1 agree in a, r1 and r2 in b, r2 and r3 in a, ...: a path through a random bipartite graph."""
    half = n // 2 + 1
    pairs = sorted({(random.randrange(half), random.randrange(half)) for _ in range(int(1.2 * n))})
    devices = [device(f"d{a:02}-{b:02}", a=a, b=b) for a, b in pairs]
    names = _names(_any(n))
    constraints = [match("ab"[at % 2], *names[at : at + 2]) for at in range(n - 1)]
    return problem(pool(devices), [claim(_any(n), *constraints)])


@family(4, 6, 8, 10, 14, 20, 32)
def _ring_of_matches(n: int, random: Random) -> Object:
    """The same chain closed to a ring, of other values at each step than the step before."""
    half = n // 2 + 1
    pairs = sorted({(random.randrange(half), random.randrange(half)) for _ in range(int(1.3 * n))})
    devices = [device(f"d{a:02}-{b:02}", a=a, b=b) for a, b in pairs]
    names = _names(_any(n))
    constraints = [match("ab"[at % 2], names[at], names[(at + 1) % n]) for at in range(n - n % 2)]
    return problem(pool(devices), [claim(_any(n), *constraints[:31], distinct("a", *names[::2]))])


def _colours(copies: int, colours: int) -> list[Object]:
    return pool([device(f"d{copy:02}-{colour}", colour=colour) for copy in range(copies) for colour in range(colours)])


@family(6, 8, 10, 12, 14, 18)
def _colouring(n: int, random: Random) -> Object:
    """Three colours for a random graph of n vertices; an edge is a distinctAttribute over two requests."""
    edges = sorted(random.sample(list(combinations(range(n), 2)), min(32, int(2.2 * n), n * (n - 1) // 2)))
    names = _names(_any(n))
    constraints = [distinct("colour", names[a], names[b]) for a, b in edges]
    return problem(_colours(n, 3), [claim(_any(n), *constraints)])


@family(8, 12, 16, 20, 26, 32)
def _colouring_of_triangles(n: int, random: Random) -> Object:
    """Triangles instead of edges, so that 32 constraints are hard to satisfy for more vertices."""
    triangles = [sorted(random.sample(range(n), 3)) for _ in range(min(32, int(0.95 * n)))]
    names = _names(_any(n))
    constraints = [distinct("colour", *(names[at] for at in one)) for one in triangles]
    return problem(_colours(n, 3), [claim(_any(n), *constraints)])


@family(8, 12, 16, 20, 26, 32)
def _cliques_and_one_edge(n: int, random: Random) -> Object:
    """Rings of cliques of four in four colours, where what links them makes a fifth colour necessary."""
    names = _names(_any(n))
    constraints = [distinct("colour", *names[at : at + 4]) for at in range(0, n, 4)]
    constraints += [match("colour", names[at + 3], names[at + 4]) for at in range(0, n - 4, 4)]
    constraints.append(
        distinct("colour", names[3], names[-1])
        if n % 8
        else distinct("colour", names[0], names[-4], names[3], names[-1])
    )
    return problem(_colours(n, 4), [claim(_any(n), *constraints)])


@family(3, 4, 5)
def _latin_square_by_constraints(n: int, random: Random) -> Object:
    """Rows and columns are distinctAttribute; the diagonal and a corner of the other one match, which is impossible."""
    names = {(row, column): f"r{row * n + column:02}" for row, column in product(range(n), repeat=2)}
    constraints = [distinct("colour", *(names[row, column] for column in range(n))) for row in range(n)]
    constraints += [distinct("colour", *(names[row, column] for row in range(n))) for column in range(n)]
    constraints.append(match("colour", *(names[at, at] for at in range(n))))
    constraints.append(match("colour", names[0, n - 1], names[n - 1, 0], names[0, 0] if n == 3 else names[1, n - 2]))
    return problem(_colours(n * n, n), [claim(_any(n * n), *constraints)])


@family(4, 6, 8, 12, 16, 24, 32)
def _two_attributes_at_odds(n: int, random: Random) -> Object:
    """All in one rack, all of other rails; every rack lacks a rail."""
    devices = [
        device(f"d{rack:02}-{rail:02}", rack=rack, rail=rail)
        for rack in range(6)
        for rail in range(n)
        if rail != (rack * 5 + 1) % n
    ]
    return problem(pool(devices), [claim(_any(n), match("rack"), distinct("rail"))])


@family(4, 6, 8, 12, 16, 24)
def _distinct_twice(n: int, random: Random) -> Object:
    """n devices, no two in one row or column of a board with few squares."""
    squares = sorted(random.sample(list(product(range(n), repeat=2)), int(2.4 * n)))
    devices = [device(f"d{row:02}-{column:02}", row=row, column=column) for row, column in squares]
    return problem(pool(devices), [claim(_any(n), distinct("row"), distinct("column"))])


@family(4, 6, 8, 10, 12, 16)
def _distinct_three_times(n: int, random: Random) -> Object:
    """Three-dimensional matching by constraints."""
    squares = sorted({tuple(random.randrange(n) for _ in range(3)) for _ in range(3 * n)})
    devices = [device(f"d{x:02}-{y:02}-{z:02}", x=x, y=y, z=z) for x, y, z in squares]
    return problem(
        pool(devices), [claim([request("r", exactly(count=n))], distinct("x"), distinct("y"), distinct("z"))]
    )


@family(6, 8, 12, 16, 20, 26, 32)
def _match_on_lists(n: int, random: Random) -> Object:
    """Devices with lists of switches; n of them must have one in common, and each switch has n - 1."""
    lists: list[list[int]] = [[] for _ in range(3 * n)]
    for switch in range(8):
        for at in random.sample(range(3 * n), n - 1):
            lists[at].append(switch)
    devices = [device(f"d{at:02}", switches=one or [100 + at]) for at, one in enumerate(lists)]
    return problem(pool(devices), [claim(_any(n), match("switches"))], features="all")


@family(6, 8, 12, 16, 20, 26, 32)
def _clique_on_lists(n: int, random: Random) -> Object:
    """Devices with lists of what they border on; overlapping groups of requests must share something."""
    devices = [device(f"d{at:02}", near=sorted(random.sample(range(n), 3))) for at in range(2 * n)]
    asked = _any(n)
    names = _names(asked)
    constraints = [match("near", *names[at : at + 4]) for at in range(0, n - 2, 2)]
    return problem(pool(devices), [claim(asked, *constraints, distinct("near", *names[::5]))], features="all")


@family(6, 8, 12, 16, 20, 24)
def _disjoint_lists(n: int, random: Random) -> Object:
    """Set packing by a distinctAttribute over lists: n / 3 lists of three out of n, and few enough to be hard."""
    devices = [device(f"d{at:02}", cores=sorted(random.sample(range(n), 3))) for at in range(2 * n)]
    return problem(pool(devices), [claim([request("r", exactly(count=n // 3))], distinct("cores"))], features="all")


@family(6, 9, 12, 18, 24, 30)
def _types_of_attributes(n: int, random: Random) -> Object:
    """Versions, strings, bools and numbers: three groups of requests, each of one version and distinct strings."""
    devices = [
        device(
            f"d{at:02}",
            driverVersion=Version(f"1.{random.randrange(3)}.0"),
            serial=f"s{random.randrange(n)}",
            ecc=bool(at % 2),
            numa=random.randrange(4),
        )
        for at in range(2 * n)
    ]
    asked = requests(exactly(where("ecc", "==", bool(at % 2)), where("numa", "<", 1 + at % 4)) for at in range(n))
    names = _names(asked)
    third = n // 3
    constraints = [match("driverVersion", *names[at : at + third]) for at in range(0, n, third)]
    return problem(pool(devices), [claim(asked, *constraints, distinct("serial"))])


@family(4, 6, 8, 12, 16)
def _groups_in_turn(n: int, random: Random) -> Object:
    """Claims each in one rack; racks have room for all but the last, if the first ones choose late racks."""
    devices = [device(f"d{rack:02}-{at}", rack=rack, kind=at) for rack in range(n) for at in range(3) if at <= rack % 3]
    asked = [requests(exactly(where("kind", "==", kind)) for kind in range(1 + number % 3)) for number in range(n)]
    return problem(pool(devices), claims(asked, match("rack")))


@family(4, 6, 8, 12, 16)
def _grid_of_matches(n: int, random: Random) -> Object:
    """Two rows of requests: rows chain over a, columns agree in b, and neighbours differ in c."""
    devices = [
        device(f"d{at:02}", a=random.randrange(3), b=random.randrange(4), c=random.randrange(3)) for at in range(4 * n)
    ]
    asked = _any(min(2 * n, 32))
    names = _names(asked)
    upper, lower = names[: len(names) // 2], names[len(names) // 2 :]
    constraints = [match("b", one, other) for one, other in zip(upper, lower, strict=True)]
    constraints += [match("a", *upper[at : at + 3]) for at in range(0, len(upper) - 2, 2)]
    constraints += [distinct("c", *lower[at : at + 3]) for at in range(0, len(lower) - 2, 2)]
    return problem(pool(devices), [claim(asked, *constraints[:32])])
