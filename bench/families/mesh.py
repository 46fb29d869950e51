"""Meshes of chips, as of TPUs: a device is a rectangle of neighbouring chips, which are counters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from bench.families.parts import (
    claim,
    claims,
    device,
    distinct,
    exactly,
    first_of,
    holding,
    match,
    pool,
    problem,
    requests,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object

Shape = tuple[int, int]


def _name(shape: Shape, row: int, column: int) -> str:
    return f"t{shape[0]}x{shape[1]}-{row}-{column}"


def _mesh(rows: int, columns: int, shapes: Sequence[Shape], *, aligned: bool = False) -> list[Object]:
    """All places of all shapes; aligned ones start at multiples of their size only, as cloud providers have them."""
    devices = []
    for height, width in shapes:
        steps = (height, width) if aligned else (1, 1)
        for row in range(0, rows - height + 1, steps[0]):
            for column in range(0, columns - width + 1, steps[1]):
                chips = product(range(row, row + height), range(column, column + width))
                draws: dict[str, dict[str, int]] = {}
                for at, other in chips:
                    draws.setdefault(f"row{at}", {})[f"c{other}"] = 1
                place = {"row": row, "column": column, "half": 2 * row // rows}
                devices.append(device(_name((height, width), row, column), draws, shape=f"{height}x{width}", **place))
    return pool(devices, {f"row{at}": {f"c{other}": 1 for other in range(columns)} for at in range(rows)})


def _of(shape: Shape, count: int = 1) -> Object:
    return exactly(where("shape", "==", f"{shape[0]}x{shape[1]}"), count=count)


@family(4, 5, 6, 7, 8)
def _squares_in_an_odd_mesh(n: int, random: Random) -> Object:
    """One square of two by two more than there is room for, or as many where sides are even."""
    count = (n // 2) ** 2 + n % 2
    return problem(_mesh(n, n, [(2, 2)]), [claim(requests([_of((2, 2), count)]))])


@family(4, 5, 6, 7, 8)
def _bars_of_four(n: int, random: Random) -> Object:
    """Bars of four chips either way; by colours no square of a side of 4k + 2 is made of them."""
    count = n * n // 4
    asked = exactly(where("shape", "in", ["1x4", "4x1"]), count=min(count, 32))
    return problem(_mesh(n, n, [(1, 4), (4, 1)]), [claim(requests([asked]))])


@family(4, 5, 6, 7, 8)
def _bars_of_three_by_requests(n: int, random: Random) -> Object:
    """Bars of three around one chip that is in use; only some chips allow that."""
    chip = (0, 1) if n % 3 else (0, 0)
    asked = requests(exactly(where("shape", "in", ["1x3", "3x1"])) for _ in range(min(32, (n * n - 1) // 3)))
    shapes = [(1, 1), (1, 3), (3, 1)]
    return problem(_mesh(n, n, shapes), [claim(asked)], allocated=holding([_name((1, 1), *chip)]))


@family(4, 6, 8)
def _small_before_large(n: int, random: Random) -> Object:
    """Single chips are asked for before aligned squares, which need all but one square's place."""
    squares = (n // 4) * (n // 4) if n > 4 else 1
    shapes = [(1, 1), (2, 2), (4, 4)]
    asked = [*[_of((1, 1))] * min(4, n), *[_of((2, 2))] * 3, *[_of((4, 4))] * squares]
    return problem(_mesh(n, n, shapes, aligned=True), [claim(requests(asked))])


@family(4, 6, 8)
def _claims_of_topologies(n: int, random: Random) -> Object:
    """A claim for each topology, from small to large, until the mesh is full, and one more of the smallest."""
    shapes = [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)]
    left, each = n * n, []
    for shape in random.choices(shapes[:4], k=40):
        if left >= shape[0] * shape[1]:
            left -= shape[0] * shape[1]
            each.append(shape)
    each.sort(key=lambda one: one[0] * one[1])
    each.append((1, 1) if not left else (2, 2))
    return problem(_mesh(n, n, shapes, aligned=True), claims(requests([_of(one)]) for one in each))


@family(4, 6, 8)
def _lists_of_topologies(n: int, random: Random) -> Object:
    """Lists from the largest topology to one chip, together as many as fit if all but one take two by two."""
    shapes = [(4, 4), (4, 2), (2, 2), (2, 1), (1, 1)]
    asked = [first_of(f"r{at:02}", map(_of, shapes)) for at in range(min(31, n * n // 4 + 3))]
    return problem(_mesh(n, n, shapes), [claim(asked)])


@family(4, 6, 8, 10)
def _rows_and_columns(n: int, random: Random) -> Object:
    """Whole rows before whole columns: either is possible, both are not."""
    shapes = [(1, n), (n, 1), (1, 1)]
    asked = [_of((1, 1)), _of((1, n), n // 2), _of((n, 1))]
    return problem(_mesh(n, n, shapes), [claim(requests(asked))])


@family(4, 6, 8)
def _broken_chips(n: int, random: Random) -> Object:
    """Chips at random are in use, and squares of two must go to one half of the mesh, in rows of their own."""
    broken = random.sample(list(product(range(n), range(n))), n // 2)
    asked = requests([_of((2, 2))] * (n // 4 + 1) + [_of((2, 1))] * (n // 2))
    names = [one["name"] for one in asked]
    constraints = [match("half", *names[: n // 4 + 1]), distinct("row", *names[n // 4 + 1 :])]
    slices = _mesh(n, n, [(1, 1), (2, 1), (2, 2)])
    return problem(slices, [claim(asked, *constraints)], allocated=holding(_name((1, 1), *one) for one in broken))
