"""Partitions of A100 GPUs with the memory slices and placements of the real ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, islice
from random import Random

from bench.families.parts import (
    DRIVER,
    claim,
    claims,
    device,
    distinct,
    exactly,
    first_of,
    holding,
    match,
    of_driver,
    pool,
    problem,
    request,
    requests,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object

# Memory slices, places, multiprocessors, decoders, copy engines, media engines.
_PROFILES: dict[str, tuple[int, tuple[int, ...], int, int, int, int]] = {
    "1g.5gb": (1, tuple(range(7)), 14, 0, 1, 0),
    "1g.5gb+me": (1, tuple(range(7)), 14, 1, 1, 1),
    "1g.10gb": (2, (0, 2, 4, 6), 14, 1, 1, 0),
    "2g.10gb": (2, (0, 2, 4), 28, 1, 2, 0),
    "3g.20gb": (4, (0, 4), 42, 2, 3, 0),
    "4g.20gb": (4, (0,), 56, 2, 4, 0),
    "7g.40gb": (8, (0,), 98, 5, 7, 1),
}
_WHOLE = {"sm": 98, "dec": 5, "ce": 7, "me": 1}


def _name(gpu: int, profile: str, place: int) -> str:
    return f"gpu-{gpu}-{profile.replace('.', '-').replace('+', '-')}-{place}"


def _gpu(gpu: int) -> list[Object]:
    about = {"parentUUID": f"GPU-{gpu}", "index": gpu, "resource.kubernetes.io/pcieRoot": f"pci0000:{gpu // 2:02}"}
    slices = dict.fromkeys((f"m{at}" for at in range(8)), 1)
    made = [device(f"gpu-{gpu}", {f"gpu-{gpu}": {**slices, **_WHOLE}}, profile="gpu", **about)]
    for profile, (size, places, processors, decoders, engines, media) in _PROFILES.items():
        for place in places:
            draws = {**dict.fromkeys((f"m{at}" for at in range(place, place + size)), 1), "sm": processors}
            draws |= {name: one for name, one in (("dec", decoders), ("ce", engines), ("me", media)) if one}
            made.append(device(_name(gpu, profile, place), {f"gpu-{gpu}": draws}, profile=profile, **about))
    return made


def node(gpus: int) -> list[Object]:
    """The slices of a node with so many GPUs."""
    counters = {f"gpu-{gpu}": {**dict.fromkeys((f"m{at}" for at in range(8)), 1), **_WHOLE} for gpu in range(gpus)}
    return pool([one for gpu in range(gpus) for one in _gpu(gpu)], counters)


def of(profile: str, count: int = 1) -> Object:
    """What asks for partitions of a profile."""
    return exactly(of_driver(DRIVER), where("profile", "==", profile), count=count)


def _all_of(profiles: Iterable[str]) -> list[Object]:
    return requests(map(of, profiles))


def busy(*places: tuple[int, str, int]) -> list[Object]:
    """A claim that has these partitions: GPU, profile, place."""
    return holding(_name(*one) for one in places)


@family(1, 2, 3, 4, 6, 8)
def _claims_that_each_fill_a_gpu(n: int, random: Random) -> Object:
    """n claims, each of a GPU's worth of partitions with one parent; one GPU has lost a slice."""
    asked = _all_of(["2g.10gb", "1g.5gb", "3g.20gb", "1g.5gb"])
    allocated = busy((n - 1, "1g.5gb", 3))
    return problem(node(n), claims([asked] * n, match("parentUUID")), allocated=allocated)


@family(1, 2, 3, 4, 6, 8)
def _mixed_claims_on_broken_gpus(n: int, random: Random) -> Object:
    """Each GPU has another slice in use; claims of three partitions find their GPU late, the last one none."""
    allocated = busy(*((gpu, "1g.5gb", gpu % 7) for gpu in range(n)))
    mixes = [["3g.20gb", "2g.10gb", "1g.5gb"], ["3g.20gb", "1g.10gb", "1g.5gb"], ["2g.10gb", "2g.10gb", "1g.5gb"]]
    asked = [_all_of(one) for one in islice(cycle(mixes), n)]
    return problem(node(n), claims(asked, match("parentUUID")), allocated=allocated)


@family(2, 3, 4, 5, 6, 8)
def _parts_then_whole(n: int, random: Random) -> Object:
    """A partition on each of n GPUs, then a whole one."""
    asked = _all_of([*["1g.5gb"] * n, "gpu"])
    names = [one["name"] for one in asked[:-1]]
    return problem(node(n), [claim(asked, distinct("parentUUID", *names))])


@family(1, 2, 3, 4, 6, 8)
def _two_parents_over_overlapping_requests(n: int, random: Random) -> Object:
    """Pairs with one parent, chained by distinct parents: more chains than GPUs with room for a pair."""
    asked = _all_of(["3g.20gb", "3g.20gb"] * (n + 1))
    names = [one["name"] for one in asked]
    constraints = [match("parentUUID", *names[at : at + 2]) for at in range(0, len(names), 2)]
    constraints += [distinct("parentUUID", *names[::2]), distinct("index", *names[1::2])]
    return problem(node(n), [claim(asked, *constraints)])


@family(1, 2, 3, 4, 6, 8)
def _lists_of_profiles(n: int, random: Random) -> Object:
    """Each would rather have a large partition; there is room for all only if nearly none gets it."""
    names = ["7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"]
    asked = [first_of(f"r{at:02}", map(of, names)) for at in range(min(4 * n, 31))]
    return problem(node(n), [claim([*asked, request("last", of("1g.5gb", min(3 * n, 32 - len(asked))))])])


@family(1, 2, 3, 4, 6, 8)
def _lists_then_whole(n: int, random: Random) -> Object:
    """Lists of profiles on n GPUs and whole GPUs after them: one GPU must do for all lists, and cannot."""
    names = ["4g.20gb", "3g.20gb", "2g.10gb", "1g.10gb"]
    asked = [first_of(f"r{at:02}", map(of, names)) for at in range(5)]
    asked += [request(f"w{at}", of("gpu")) for at in range(n - 1)]
    return problem(node(n), [claim(asked)])


@family(1, 2, 3, 4, 6, 8)
def _lists_with_one_parent(n: int, random: Random) -> Object:
    """Four lists with one parent, where each GPU has two slices in use in other places."""
    names = ["3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb+me", "1g.5gb"]
    places = [(gpu, "1g.5gb", place) for gpu in range(n) for place in random.sample(range(7), 2)]
    each = [[first_of(f"r{at}", map(of, names[at % 2 :])) for at in range(4)] for _ in range(n)]
    return problem(node(n), claims(each, match("parentUUID")), allocated=busy(*places))


@family(1, 2, 3, 4, 5)
def _perfect_packing_small_first(n: int, random: Random) -> Object:
    """The small ones come first in the claim, and the places that they like are needed by the large ones."""
    small = ["1g.5gb"] * n + ["2g.10gb"] * n
    return problem(node(n), [claim(_all_of([*small, *["4g.20gb"] * n]))])


@family(1, 2, 3, 4, 5)
def _perfect_packing_with_media(n: int, random: Random) -> Object:
    """One media engine a GPU, and one partition with it too many."""
    asked = _all_of([*["1g.5gb"] * n, *["3g.20gb"] * n, *["1g.5gb+me"] * (n + 1)])
    return problem(node(n), [claim(asked)])


@family(2, 3, 4, 6, 8)
def _distinct_parents_of_large_ones(n: int, random: Random) -> Object:
    """n + 1 times 2g.10gb with parents of their own on n GPUs, beside 3g.20gb that take any."""
    asked = _all_of([*["3g.20gb"] * n, *["2g.10gb"] * (n + 1)])
    names = [one["name"] for one in asked[n:]]
    return problem(node(n), [claim(asked, distinct("parentUUID", *names))])


@family(2, 4, 6, 8)
def _pairs_of_gpus_on_a_root(n: int, random: Random) -> Object:
    """Two GPUs share a PCI root: partitions of one root and several parents, then a pair of whole GPUs of one root."""
    root, parent = "pcieRoot", "parentUUID"
    small = [
        claim(
            _all_of(["2g.10gb", "2g.10gb", "3g.20gb"]),
            match(root, driver="resource.kubernetes.io"),
            distinct(parent, "r00", "r01"),
            name=f"c{at}",
        )
        for at in range(n // 2)
    ]
    pair = claim(_all_of(["gpu", "gpu"]), match(root, driver="resource.kubernetes.io"), name="pair")
    return problem(node(n), [*small, pair])


@family(1, 2, 3, 4, 6, 8)
def _needle(n: int, random: Random) -> Object:
    """Every GPU has one slice in use but for the last, which is the only one for the last claim."""
    allocated = busy(*((gpu, "1g.5gb", 6) for gpu in range(n - 1)))
    asked = [_all_of(["1g.5gb", "2g.10gb"]), *[_all_of(["2g.10gb"] * 3)] * (n - 1), _all_of(["3g.20gb", "3g.20gb"])]
    return problem(node(n), claims(asked, match("parentUUID")), allocated=allocated)


@family(1, 2, 3, 4, 6, 8)
def _random_demand(n: int, random: Random) -> Object:
    """Claims of random profiles, some with one parent, that ask for about what there is."""
    demand = 0
    made: list[Object] = []
    while demand < 7 * n:
        profiles = random.choices(["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb"], k=random.randint(1, 4))
        demand += sum(int(one[0]) for one in profiles)
        asked = _all_of(profiles)
        constraints = random.choice([[], [match("parentUUID")], [distinct("parentUUID")]])
        made.append(
            claim(
                asked,
                *(constraints if len(asked) <= n or not constraints or "match" in str(constraints) else []),
                name=f"c{len(made)}",
            )
        )
    return problem(node(n), made)


@family(2, 3, 4, 6, 8)
def _counts_with_distinct_parents(n: int, random: Random) -> Object:
    """Several counts with parents of their own, and a whole GPU at the end: unsolvable by one."""
    asked = [request("a", of("1g.5gb", n)), request("b", of("2g.10gb", n)), request("c", of("3g.20gb", n))]
    return problem(
        node(n), [claim([*asked, request("d", of("1g.10gb", 1))], *(distinct("parentUUID", name) for name in "abc"))]
    )
