"""Consumable capacity: shares of devices, of many sizes, in several dimensions, by policies."""

from __future__ import annotations

from random import Random
from typing import Any

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
    requests,
    shared,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object


def _shared(count: int, **capacity: Any) -> list[Object]:
    return [shared(device(f"d{at:02}", at=at, rack=at // 2), **capacity) for at in range(count)]


def _share(*expressions: str, **amounts: int) -> Object:
    return exactly(*expressions, capacity={"requests": {name: str(one) for name, one in amounts.items()}})


def _exact_bins(bins: int, room: int, random: Random) -> list[int]:
    sizes = []
    for _ in range(bins):
        first, second = random.randint(room // 4, room * 2 // 5), random.randint(room // 4, room * 2 // 5)
        sizes += [first, second, room - first - second]
    return random.sample(sizes, len(sizes))


@family(2, 3, 4, 5, 6, 8, 10)
def _bins_of_distinct_sizes(n: int, random: Random) -> Object:
    """Three shares to a device fill all of them; the first solution is found late."""
    sizes = _exact_bins(n, 100, random)
    return problem(pool(_shared(n, bw=100)), [claim(requests(_share(bw=one) for one in sizes))])


@family(2, 3, 4, 5, 6, 8, 10)
def _bins_one_too_small(n: int, random: Random) -> Object:
    """The same with one more to place."""
    sizes = [*_exact_bins(n, 100, random), 1]
    return problem(pool(_shared(n, bw=100)), [claim(requests(_share(bw=one) for one in sizes))])


@family(6, 10, 14, 18, 24, 32)
def _even_shares_of_odd_devices(n: int, random: Random) -> Object:
    """Two devices whose rooms add up, but shares are even and rooms odd."""
    sizes = [2 * random.randint(10, 90) for _ in range(n)]
    half = (sum(sizes) // 2) | 1
    devices = [shared(device(f"d{at}"), bw=room) for at, room in enumerate((half, sum(sizes) - half))]
    return problem(pool(devices), [claim(requests(_share(bw=one) for one in sizes))])


@family(6, 9, 12, 15, 18, 24, 30)
def _vectors(n: int, random: Random) -> Object:
    """Shares in two dimensions, three to a device, a tenth of which stays free."""
    sizes = [(random.randint(15, 45), random.randint(15, 45)) for _ in range(n)]
    bw, memory = (int(sum(one[at] for one in sizes) / (n // 3) * 1.06) for at in (0, 1))
    asked = requests(_share(bw=one, memory=other) for one, other in sizes)
    return problem(pool(_shared(n // 3, bw=bw, memory=memory)), [claim(asked)])


@family(6, 9, 12, 15, 18, 24, 30)
def _vectors_of_three(n: int, random: Random) -> Object:
    """Three dimensions, of which another one is short for each share."""
    sizes = [[random.randint(5, 20) + (25 if at % 3 == k else 0) for k in range(3)] for at in range(n)]
    most = [int(sum(one[at] for one in sizes) / (n // 3) * 1.03) for at in range(3)]
    devices = _shared(n // 3, a=most[0], b=most[1], c=most[2])
    return problem(pool(devices), [claim(requests(_share(a=one[0], b=one[1], c=one[2]) for one in sizes))])


@family(4, 6, 8, 12, 16, 24, 32)
def _rounded_by_policy(n: int, random: Random) -> Object:
    """Steps of four from three on: what is asked for is less than what is taken, and together it is too much."""
    policy = {"default": "3", "validRange": {"min": "3", "max": "43", "step": "4"}}
    sizes = [random.randint(1, 20) for _ in range(n)]
    taken = [max(3, 3 + 4 * -(-(one - 3) // 4)) for one in sizes]
    devices = _shared(3, bw=((sum(taken) + 2) // 3, policy))
    return problem(pool(devices), [claim(requests(_share(bw=one) for one in sizes))])


@family(4, 6, 8, 12, 16, 24, 32)
def _valid_values(n: int, random: Random) -> Object:
    """Values of a policy: 10, 15, 25 and 40."""
    policy = {"default": "10", "validValues": ["10", "15", "25", "40"]}
    sizes = [random.randint(8, 40) for _ in range(n)]
    taken = [next(one for one in (10, 15, 25, 40) if one >= size) for size in sizes]
    devices = _shared(max(2, n // 4), bw=(max(40, sum(taken) // max(2, n // 4) // 5 * 5 + 5), policy))
    return problem(pool(devices), [claim(requests(_share(bw=one) for one in sizes))])


@family(4, 6, 8, 12, 16, 24, 32)
def _shares_on_distinct_devices(n: int, random: Random) -> Object:
    """Groups of four shares on devices of their own; sizes differ and one device is too small for any large one."""
    devices = [shared(device(f"d{at:02}", at=at), bw=40 + 7 * at) for at in range(5)]
    sizes = sorted((random.randint(5, 30) for _ in range(n)), key=lambda one: one % 7)
    asked = requests(_share(bw=one) for one in sizes)
    names = [one["name"] for one in asked]
    return problem(pool(devices), [claim(asked, *(distinct("at", *names[at : at + 4]) for at in range(0, n, 4)))])


@family(4, 6, 8, 12, 16, 24)
def _shares_in_one_rack(n: int, random: Random) -> Object:
    """Claims of shares that go to one rack each; racks are filled by two claims of fitting sizes."""
    each = []
    for _ in range(n // 2):
        first = [random.randint(20, 60) for _ in range(3)]
        each += [first, [100 - one if one > 50 else 98 - one for one in first]]
    racks = n // 2
    devices = [shared(device(f"d{rack:02}-{at}", rack=rack), bw=100) for rack in range(racks) for at in range(3)]
    random.shuffle(each)
    return problem(pool(devices), claims([requests(_share(bw=one) for one in sizes) for sizes in each], match("rack")))


@family(4, 6, 8, 12, 16)
def _shares_that_draw_counters(n: int, random: Random) -> Object:
    """The first share of a device draws a counter, which is enough for half of the devices."""
    devices = [shared(device(f"d{at:02}", {"s": {"c": 3 + at % 3}}), bw=50) for at in range(n)]
    sizes = [random.randint(10, 30) for _ in range(min(32, n + n // 2))]
    room = 4 * max(2, round(sum(sizes) / 46))
    return problem(pool(devices, {"s": {"c": room}}), [claim(requests(_share(bw=one) for one in sizes))])


@family(4, 6, 8, 12, 16, 24)
def _lists_of_shares(n: int, random: Random) -> Object:
    """Lists of shares from large to small, with room for the smallest only, or less."""
    asked = [
        first_of(
            f"r{at:02}", (_share(bw=size) for size in sorted(random.sample(range(7 + at % 3, 60), 8), reverse=True))
        )
        for at in range(n)
    ]
    least = sum(min(int(one["capacity"]["requests"]["bw"]) for one in asked[at]["firstAvailable"]) for at in range(n))
    return problem(pool(_shared(3, bw=least // 3 + (2 if n % 4 else -1))), [claim(asked)])


@family(4, 6, 8, 12, 16, 24, 32)
def _shares_beside_whole_devices(n: int, random: Random) -> Object:
    """Whole devices and shares under one counter of power; nothing is left if shares spread."""
    devices = [shared(device(f"a{at:02}", {"s": {"w": 5}}, kind="a"), bw=30) for at in range(n)]
    devices += [device(f"b{at:02}", {"s": {"w": 7 + at % 2}}, kind="b") for at in range(n)]
    asked = [_share(where("kind", "==", "a"), bw=random.randint(9, 15)) for _ in range(n // 2)]
    asked += [exactly(where("kind", "==", "b")) for _ in range(n // 2)]
    room = 7 * (n // 2) + 5 * (n // 4 + 1)
    return problem(pool(devices, {"s": {"w": room}}), [claim(requests(asked))])


@family(6, 10, 14, 20, 26, 32)
def _claims_of_shares(n: int, random: Random) -> Object:
    """A claim for each share; sizes are such that two never fill a device, and three do."""
    sizes = [random.choice((31, 32, 33, 34, 35)) for _ in range(n)]
    return problem(pool(_shared(-(-n // 3), bw=99)), claims(requests([_share(bw=one)]) for one in sizes))
