"""Packing and counting: what fits is decided by sums over counters."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

from bench.families.parts import claim, claims, device, distinct, exactly, pool, problem, requests, where
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object


def _items_in_bins(sizes: list[int], rooms: list[int]) -> Object:
    """A request for each item; the device chosen says in which bin it goes."""
    devices = [
        device(f"i{item:02}-b{bin_}", {f"bin{bin_}": {"room": size}}, item=item)
        for item, size in enumerate(sizes)
        for bin_ in range(len(rooms))
    ]
    counters = {f"bin{bin_}": {"room": room} for bin_, room in enumerate(rooms)}
    asked = requests(exactly(where("item", "==", item)) for item in range(len(sizes)))
    return problem(pool(devices, counters), [claim(asked)])


@family(6, 10, 14, 20, 26, 32)
def _bin_packing_one_too_many(n: int, random: Random) -> Object:
    """All but the last item fill the bins exactly."""
    rooms = [30] * (n // 3)
    sizes = []
    for _ in rooms:
        first, second = random.randint(8, 12), random.randint(8, 12)
        sizes += [first, second, 30 - first - second]
    return _items_in_bins([*random.sample(sizes, len(sizes)), 1], rooms)


@family(6, 9, 12, 15, 18, 24, 30)
def _three_partition(n: int, random: Random) -> Object:
    """Three items to a bin, and they just fit; or not, where the size is odd."""
    sizes: list[int] = []
    for _ in range(n // 3):
        first, second = random.randint(26, 49), random.randint(26, 49)
        sizes += [first, second, 100 - first - second]
    if n % 2:
        sizes[0], sizes[-1] = sizes[0] + 1, sizes[-1] - 1
    return _items_in_bins(random.sample(sizes, len(sizes)), [100] * (n // 3))


@family(8, 12, 16, 20, 24, 28, 32)
def _partition(n: int, random: Random) -> Object:
    """Even items into two bins of odd room."""
    sizes = [2 * random.randint(50, 500) for _ in range(n)]
    half = sum(sizes) // 2
    return _items_in_bins(sizes, [half - 1, half + 1] if half % 2 == 0 else [half, half])


@family(8, 12, 16, 20, 24, 28, 32)
def _parity(n: int, random: Random) -> Object:
    """Two bins with a room that even items leave unused."""
    sizes = [2 * random.randint(1, 9) for _ in range(n - 1)]
    return _items_in_bins([*sizes, 2], [(sum(sizes) // 2) | 1, sum(sizes) + 3 - ((sum(sizes) // 2) | 1)])


@family(12, 16, 20, 24, 32, 40, 64)
def _subset_sum(n: int, random: Random) -> Object:
    """Half of the devices, with an exact sum: a counter for the values, another for what is missing to the most."""
    values = [random.randint(1, 400) for _ in range(n)]
    count, most = min(n // 2, 32), 500
    target = sum(random.sample(values, count))
    devices = [device(f"d{at:02}", {"s": {"up": v, "down": most - v}}) for at, v in enumerate(values)]
    counters = {"s": {"up": target, "down": count * most - target}}
    return problem(pool(devices, counters), [claim(requests([exactly(count=count)]))])


@family(12, 16, 20, 24, 32, 40)
def _subset_sum_of_even(n: int, random: Random) -> Object:
    """The same with even values and an odd sum."""
    values = [2 * random.randint(1, 200) for _ in range(n)]
    count, most = n // 2, 500
    target = sum(random.sample(values, count)) + 1
    devices = [device(f"d{at:02}", {"s": {"up": v, "down": most - v}}) for at, v in enumerate(values)]
    counters = {"s": {"up": target, "down": count * most - target}}
    return problem(pool(devices, counters), [claim(requests([exactly(count=count)]))])


@family(10, 16, 22, 28, 36, 48)
def _knapsack_of_many_dimensions(n: int, random: Random) -> Object:
    """A third of the devices, five counters, all tight."""
    weights = [[random.randint(1, 30) for _ in range(5)] for _ in range(n)]
    count = n // 3
    means = [sum(one[at] for one in weights) * count / n for at in range(5)]
    counters = {"s": {f"c{at}": int(mean * 0.82) for at, mean in enumerate(means)}}
    devices = [device(f"d{at:02}", {"s": {f"c{k}": w for k, w in enumerate(one)}}) for at, one in enumerate(weights)]
    return problem(pool(devices, counters), [claim(requests([exactly(count=count)]))])


@family(10, 14, 18, 22, 26, 30)
def _knapsack_by_requests(n: int, random: Random) -> Object:
    """Each request has three devices of its own; four counters are tight."""
    devices, total = [], [0] * 4
    for item in range(n):
        for option in range(3):
            weights = [random.randint(0, 20) for _ in range(4)]
            total = [a + b for a, b in zip(total, weights, strict=True)]
            draws = {"s": {f"c{k}": w for k, w in enumerate(weights)}}
            devices.append(device(f"i{item:02}-{option}", draws, item=item))
    counters = {"s": {f"c{k}": int(one / 3 * 0.72) for k, one in enumerate(total)}}
    asked = requests(exactly(where("item", "==", item)) for item in range(n))
    return problem(pool(devices, counters), [claim(asked)])


def _board(cells: set[tuple[int, int]]) -> list[Object]:
    dominoes = []
    for row, column in sorted(cells):
        for other in ((row, column + 1), (row + 1, column)):
            if other in cells:
                draws = {f"row{row}": {f"c{column}": 1}}
                draws.setdefault(f"row{other[0]}", {})[f"c{other[1]}"] = 1
                dominoes.append(device(f"d{row}{column}-{other[0]}{other[1]}", draws, row=row))
    counters: dict[str, dict[str, int]] = {}
    for row, column in sorted(cells):
        counters.setdefault(f"row{row}", {})[f"c{column}"] = 1
    return pool(dominoes, counters)


def _cells(rows: int, columns: int, *missing: tuple[int, int]) -> set[tuple[int, int]]:
    return set(product(range(rows), range(columns))) - set(missing)


@family(4, 5, 6, 7, 8)
def _mutilated_board(n: int, random: Random) -> Object:
    """Dominoes on a board without two corners of one colour: half the cells are never enough."""
    missing = ((0, 0), (n - 1, n - 1)) if n % 2 == 0 else ((0, 1),)
    cells = _cells(n, n, *missing)
    return problem(_board(cells), [claim(requests([exactly(count=len(cells) // 2)]))])


@family(4, 5, 6, 7, 8)
def _mutilated_board_by_requests(n: int, random: Random) -> Object:
    """The same, a request for each domino."""
    cells = _cells(n, n, *(((0, 0), (n - 1, n - 1)) if n % 2 == 0 else ((0, 1),)))
    return problem(_board(cells), [claim(requests(exactly() for _ in range(len(cells) // 2)))])


@family(4, 6, 8, 10, 12)
def _board_with_holes(n: int, random: Random) -> Object:
    """A board of five rows that loses cells of both colours, as many of each; it may fit or not."""
    black = [one for one in sorted(_cells(5, n)) if sum(one) % 2 == 0]
    white = [one for one in sorted(_cells(5, n)) if sum(one) % 2]
    cells = _cells(5, n, *random.sample(black, len(black) - len(white) + n // 3), *random.sample(white, n // 3))
    return problem(_board(cells), [claim(requests([exactly(count=len(cells) // 2)]))])


@family(6, 8, 10, 12, 14, 16, 20)
def _queens(n: int, random: Random) -> Object:
    """A queen to a row: columns and diagonals are counters; the first solution comes late."""
    devices = [
        device(
            f"q{row:02}-{column:02}",
            {"board": {f"c{column}": 1, f"u{row + column}": 1, f"d{row - column + n}": 1}},
            row=row,
        )
        for row, column in product(range(n), repeat=2)
    ]
    names = {name for one in devices for name in one["consumesCounters"][0]["counters"]}
    asked = requests(exactly(where("row", "==", row)) for row in range(n))
    return problem(pool(devices, {"board": dict.fromkeys(sorted(names), 1)}), [claim(asked)])


@family(5, 6, 8, 10, 12, 16, 24)
def _rooks_without_a_column(n: int, random: Random) -> Object:
    """Permutations, twice: a device takes a column and a tower, and there is one tower too few."""
    devices = [
        device(f"r{row:02}-{column:02}", {"c": {f"c{column}": 1}, "t": {f"t{(row + column) % (n - 1)}": 1}}, row=row)
        for row, column in product(range(n), repeat=2)
    ]
    counters = {"c": {f"c{at}": 1 for at in range(n)}, "t": {f"t{at}": 1 for at in range(n - 1)}}
    asked = requests(exactly(where("row", "==", row)) for row in range(n))
    return problem(pool(devices, counters), [claim(asked)])


@family(6, 9, 12, 16, 20, 26, 32)
def _hall_violator(n: int, random: Random) -> Object:
    """A third of the requests have one device too few between them, which no single one shows."""
    few = max(2, n // 3)
    wanted = []
    for number in range(n):
        among = range(few - 1) if number % 3 == 1 else range(2 * n)
        wanted.append(sorted(random.sample(among, min(len(among), 3 if number % 3 == 1 else 4))))
    wanted += [sorted(random.sample(range(few - 1), min(few - 1, 3))) for _ in range(few - n // 3)]
    devices = [device(f"d{at:02}", index=at, uuid=f"u{at}") for at in range(2 * n)]
    asked = requests(exactly(where("index", "in", one)) for one in wanted)
    return problem(pool(devices), [claim(asked[:32])])


@family(6, 9, 12, 16, 20, 26, 32)
def _hall_violator_among_claims(n: int, random: Random) -> Object:
    """Claims of two requests each; the last five of n have four devices between them."""
    devices = [device(f"d{at:02}", index=at, uuid=f"u{at}") for at in range(3 * n)]
    asked = [[exactly(where("index", "in", sorted(random.sample(range(3 * n), 5))))] * 2 for _ in range(n - 3)]
    asked += [[exactly(where("index", "in", sorted(random.sample(range(5), 4))))] * 2 for _ in range(3)]
    random.shuffle(asked)
    return problem(pool(devices), claims(requests(one) for one in asked))


@family(5, 7, 9, 11, 14, 17)
def _pigeons_in_shared_holes(n: int, random: Random) -> Object:
    """2n + 1 pigeons, n holes for two, a device for each pigeon and hole, all different."""
    return _items_in_bins([1] * min(2 * n + 1, 32), [2] * (min(2 * n + 1, 32) // 2))


@family(6, 9, 12, 15, 18, 24, 30)
def _triples(n: int, random: Random) -> Object:
    """Three-dimensional matching: n / 3 triples without a common element, just not enough triples."""
    m = n // 3
    triples = {tuple(random.randrange(m) for _ in range(3)) for _ in range(int(3.2 * m))}
    devices = [
        device(f"t{a:02}-{b:02}-{c:02}", {axis: {f"e{at}": 1} for axis, at in zip("xyz", (a, b, c), strict=True)})
        for a, b, c in sorted(triples)
    ]
    counters = {axis: {f"e{at}": 1 for at in range(m)} for axis in "xyz"}
    return problem(pool(devices, counters), [claim(requests([exactly(count=m)]))])


@family(8, 12, 16, 20, 24, 32)
def _set_packing(n: int, random: Random) -> Object:
    """As many disjoint sets of four as the elements allow, and no more devices than four times that."""
    sets = {tuple(sorted(random.sample(range(n), 4))) for _ in range(n * 2)}
    devices = [device("s" + "-".join(f"{e:02}" for e in one), {"e": {f"e{e}": 1 for e in one}}) for one in sorted(sets)]
    return problem(pool(devices, {"e": {f"e{e}": 1 for e in range(n)}}), [claim(requests([exactly(count=n // 4)]))])


@family(6, 8, 10, 14, 20, 32)
def _exact_cover_by_requests(n: int, random: Random) -> Object:
    """A request for the set that covers element e first; sets are random, and a hidden cover is last in the order."""
    elements = random.sample(range(3 * n), 3 * n)
    cover = [sorted(elements[3 * at : 3 * at + 3]) for at in range(n)]
    devices, made = [], 0
    for item, one in enumerate(cover):
        for _ in range(4):
            decoy = sorted(random.sample(range(3 * n), 3))
            devices.append(device(f"d{made:03}", {"e": {f"e{e}": 1 for e in decoy}}, item=item))
            made += 1
        devices.append(device(f"d{made:03}", {"e": {f"e{e}": 1 for e in one}}, item=item))
        made += 1
    asked = requests(exactly(where("item", "==", item)) for item in range(n))
    return problem(pool(devices, {"e": {f"e{e}": 1 for e in range(3 * n)}}), [claim(asked)])


@family(4, 5, 6, 7, 8, 9)
def _latin_square(n: int, random: Random) -> Object:
    """Completion of a square: what is left of a Latin square after a part of it is given, and one cell contradicts."""
    order = random.sample(range(n), n)
    square = {(row, column): (order[row] + column) % n for row, column in product(range(n), repeat=2)}
    holes = sorted(random.sample(sorted(square), min(32, n * n // 2)))
    counters = {f"{kind}{at}": {f"v{value}": 1 for value in range(n)} for kind in "rc" for at in range(n)}
    for (row, column), value in square.items():
        if (row, column) not in holes:
            del counters[f"r{row}"][f"v{value}"], counters[f"c{column}"][f"v{value}"]
    if n % 2:
        row, column = holes[-1]
        del counters[f"r{row}"][f"v{square[row, column]}"]
    devices = [
        device(
            f"x{row}{column}-{value}",
            {f"r{row}": {f"v{value}": 1}, f"c{column}": {f"v{value}": 1}},
            cell=10 * row + column,
        )
        for row, column in holes
        for value in range(n)
        if f"v{value}" in counters[f"r{row}"] and f"v{value}" in counters[f"c{column}"]
    ]
    asked = requests(exactly(where("cell", "==", 10 * row + column)) for row, column in holes)
    return problem(pool(devices, {name: one for name, one in counters.items() if one}), [claim(asked)])


@family(6, 8, 10, 12, 16, 20)
def _tseitin(n: int, random: Random) -> Object:
    """Parities at the vertices of a ring with chords, of which one is odd; no counting over few vertices shows it."""
    edges = [(at, (at + 1) % n) for at in range(n)]
    halves = random.sample(range(n), n)
    edges += [(min(pair), max(pair)) for pair in zip(halves[::2], halves[1::2], strict=True)]
    counters = {f"e{at}": {"up": 1, "down": 1} for at in range(len(edges))}
    devices = []
    for vertex in range(n):
        mine = [at for at, edge in enumerate(edges) if vertex in edge]
        for bits in product((0, 1), repeat=len(mine)):
            if sum(bits) % 2 != (vertex == n - 1):
                continue
            draws = {}
            for at, bit in zip(mine, bits, strict=True):
                side = "up" if (edges[at][0] == vertex) == (bit == 1) else "down"
                draws[f"e{at}"] = {side: 1}
            devices.append(device(f"v{vertex:02}-{''.join(map(str, bits))}", draws, vertex=vertex))
    asked = requests(exactly(where("vertex", "==", vertex)) for vertex in range(n))
    return problem(pool(devices, counters), [claim(asked)])


@family(10, 14, 18, 22, 26, 30)
def _satisfiability(n: int, random: Random) -> Object:
    """Random 3-SAT at its hardest: a false literal draws from its clause, which bears two."""
    clauses = [random.sample(range(n), 3) for _ in range(int(4.3 * n))]
    signs = [[random.random() < 0.5 for _ in range(3)] for _ in clauses]
    devices = []
    for variable, value in product(range(n), (False, True)):
        draws: dict[str, dict[str, int]] = {}
        for at, (of_clause, of_signs) in enumerate(zip(clauses, signs, strict=True)):
            if variable in of_clause and of_signs[of_clause.index(variable)] != value:
                draws.setdefault(f"k{at // 32}", {})[f"c{at}"] = 1
        devices.append(device(f"x{variable:02}-{int(value)}", draws, variable=variable))
    counters = {
        f"k{group}": {f"c{at}": 2 for at in range(len(clauses)) if at // 32 == group}
        for group in range(len(clauses) // 32 + 1)
    }
    asked = requests(exactly(where("variable", "==", variable)) for variable in range(n))
    return problem(pool(devices, counters), [claim(asked)])


@family(10, 15, 20, 25, 32)
def _colouring_by_counters(n: int, random: Random) -> Object:
    """Three colours for a random graph near where that stops being possible; an edge bears each colour once."""
    edges = random.sample(list(combinations(range(n), 2)), int(2.3 * n))
    devices = []
    for vertex, colour in product(range(n), range(3)):
        draws = {f"e{at}": {f"k{colour}": 1} for at, edge in enumerate(edges) if vertex in edge}
        devices.append(device(f"v{vertex:02}-{colour}", draws, vertex=vertex))
    counters = {f"e{at}": {f"k{colour}": 1 for colour in range(3)} for at in range(len(edges))}
    asked = requests(exactly(where("vertex", "==", vertex)) for vertex in range(n))
    return problem(pool(devices, counters), [claim(asked)])


@family(8, 12, 16, 20, 26, 32)
def _forbidden_pairs(n: int, random: Random) -> Object:
    """A matching of requests and devices in which random pairs of choices exclude each other."""
    options = [(item, option) for item in range(n) for option in range(5)]
    pairs = [random.sample(options, 2) for _ in range(6 * n)]
    draws: dict[tuple[int, int], dict[str, dict[str, int]]] = {one: {} for one in options}
    for at, pair in enumerate(pairs):
        for one in pair:
            draws[one].setdefault(f"p{at // 32}", {})[f"c{at}"] = 1
    columns = {one: random.randrange(n) for one in options}
    for one, column in columns.items():
        draws[one]["columns"] = {f"c{column}": 1}
    devices = [device(f"i{item:02}-{option}", draws[item, option], item=item) for item, option in options]
    counters = {
        f"p{group}": {f"c{at}": 1 for at in range(len(pairs)) if at // 32 == group}
        for group in range(len(pairs) // 32 + 1)
    }
    counters["columns"] = {f"c{at}": 1 for at in range(n)}
    asked = requests(exactly(where("item", "==", item)) for item in range(n))
    return problem(pool(devices, counters), [claim(asked)])


@family(8, 12, 16, 20, 24, 32)
def _all_different_draws(n: int, random: Random) -> Object:
    """No two devices draw the same; half of them must fit, and only nearly do."""
    draws = random.sample(range(100, 200), n)
    devices = [device(f"d{at:02}", {"s": {"c": one}}, uuid=f"u{at}") for at, one in enumerate(draws)]
    count = n // 2
    room = sum(sorted(draws)[:count]) + (1 if n % 8 else -1)
    return problem(pool(devices, {"s": {"c": room}}), [claim(requests(exactly() for _ in range(count)))])


@family(6, 10, 14, 18, 24, 32)
def _two_counters_against_each_other(n: int, random: Random) -> Object:
    """Devices dear in one counter are cheap in another; groups of requests must alternate, and one is one too many."""
    devices = [
        device(f"d{at:02}", {"s": {"a": 3 + at % 2, "b": 4 - at % 2}}, half=at % 2, uuid=f"u{at}")
        for at in range(3 * n)
    ]
    counters = {"s": {"a": 7 * (n // 2) - 1, "b": 7 * (n // 2)}}
    return problem(pool(devices, counters), [claim(requests(exactly() for _ in range(n)), distinct("uuid"))])
