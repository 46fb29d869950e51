"""Random problems of 32 requests that have everything at once, near where half of them are solvable."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.families.parts import (
    claim,
    device,
    distinct,
    exactly,
    first_of,
    match,
    pool,
    problem,
    request,
    shared,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object

_SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)


def _devices(random: Random, count: int, sets: int, **more: Any) -> list[Object]:
    return [
        device(
            f"d{at:03}",
            {
                f"s{one}": {name: random.randint(1, 6) for name in random.sample("abc", random.randint(1, 2))}
                for one in random.sample(range(sets), random.randint(1, 2))
            },
            kind=random.choice("wxyz"),
            rack=random.randrange(8),
            rail=random.randrange(12),
            size=random.randrange(16),
            **more,
        )
        for at in range(count)
    ]


def _counters(sets: int, room: int) -> dict[str, dict[str, int]]:
    return {f"s{one}": dict.fromkeys("abc", room) for one in range(sets)}


def _asked(random: Random, *, count: int = 1) -> Object:
    which = random.randrange(4)
    kind, size = where("kind", "==", random.choice("wxyz")), where("size", "<", random.randrange(6, 16))
    expressions = [[kind], [size], [kind, size], []][which]
    return exactly(*expressions, count=count)


def _request(random: Random, at: int, lists: float) -> Object:
    if random.random() < lists:
        counts = sorted(random.choices((1, 1, 2, 3), k=random.randint(1, 7)), reverse=True)
        alternatives = [_asked(random, count=count) for count in [*counts, 1]]
        return first_of(f"r{at:02}", alternatives)
    return request(f"r{at:02}", _asked(random))


def _constraints(random: Random, names: list[str], matches: int, distincts: int) -> list[Object]:
    made = [match("rack", *sorted(random.sample(names, random.randint(2, 4)))) for _ in range(matches)]
    return made + [
        distinct(random.choice(("rail", "size")), *sorted(random.sample(names, random.randint(2, 5))))
        for _ in range(distincts)
    ]


def _mix(
    random: Random, *, devices: int, sets: int, room: int, lists: float, matches: int, distincts: int, n: int = 32
) -> Object:
    asked = [_request(random, at, lists) for at in range(n)]
    names = [one["name"] for one in asked]
    made = _devices(random, devices, sets)
    return problem(pool(made, _counters(sets, room)), [claim(asked, *_constraints(random, names, matches, distincts))])


@family(*_SEEDS)
def _counters_only(seed: int, random: Random) -> Object:
    return _mix(random, devices=64, sets=4, room=44, lists=0, matches=0, distincts=0)


@family(*_SEEDS)
def _counters_and_lists(seed: int, random: Random) -> Object:
    return _mix(random, devices=80, sets=4, room=44, lists=0.5, matches=0, distincts=0)


@family(*_SEEDS)
def _counters_and_matches(seed: int, random: Random) -> Object:
    return _mix(random, devices=80, sets=4, room=50, lists=0, matches=6, distincts=0)


@family(*_SEEDS)
def _constraints_only(seed: int, random: Random) -> Object:
    return _mix(random, devices=40, sets=4, room=1000, lists=0, matches=9, distincts=9)


@family(*_SEEDS)
def _constraints_and_lists(seed: int, random: Random) -> Object:
    return _mix(random, devices=44, sets=4, room=1000, lists=0.6, matches=8, distincts=8)


@family(*_SEEDS)
def _everything(seed: int, random: Random) -> Object:
    return _mix(random, devices=80, sets=5, room=42, lists=0.4, matches=6, distincts=6)


@family(*_SEEDS)
def _everything_of_many_devices(seed: int, random: Random) -> Object:
    return _mix(random, devices=200, sets=8, room=14, lists=0.4, matches=8, distincts=8)


@family(*_SEEDS)
def _tight_counters(seed: int, random: Random) -> Object:
    return _mix(random, devices=120, sets=8, room=16, lists=0.3, matches=0, distincts=4)


@family(*_SEEDS)
def _sixteen_requests(seed: int, random: Random) -> Object:
    return _mix(random, devices=40, sets=3, room=28, lists=0.4, matches=3, distincts=3, n=16)


@family(*_SEEDS)
def _several_claims(seed: int, random: Random) -> Object:
    claims = []
    for number in range(6):
        asked = [_request(random, at, 0.4) for at in range(6)]
        names = [one["name"] for one in asked]
        claims.append(claim(asked, *_constraints(random, names, 2, 2), name=f"c{number}"))
    return problem(pool(_devices(random, 90, 5), _counters(5, 46)), claims)


@family(*_SEEDS)
def _shares_and_counters(seed: int, random: Random) -> Object:
    made = [
        shared(one, bw=random.choice((20, 30, 40))) if random.random() < 0.5 else one for one in _devices(random, 40, 4)
    ]
    asked = [_request(random, at, 0.4) for at in range(32)]
    for one in asked:
        for alternative in one.get("firstAvailable") or [one["exactly"]]:
            alternative["capacity"] = {"requests": {"bw": str(random.randint(3, 16))}}
    names = [one["name"] for one in asked]
    return problem(pool(made, _counters(4, 40)), [claim(asked, *_constraints(random, names, 3, 3))])
