"""Simple shapes, each asked for in another way: by one count, by requests, by claims, and in lists."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.families.mig import busy, node, of
from bench.families.parts import (
    OTHER,
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
    shared,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object

_ROOT = "resource.kubernetes.io"


def _nics(count: int, per_root: int = 1) -> list[Object]:
    """All with an address of their own, so that no two are equal."""
    roots: list[dict[str, Any]] = [{f"{_ROOT}/pcieRoot": f"pci{at // per_root:02}"} for at in range(count)]
    return [device(f"nic-{at:02}", mac=f"00:{at:02}", numa=at % 2, **root) for at, root in enumerate(roots)]


@family(2, 4, 6, 8)
def _halves_by_requests(n: int, random: Random) -> Object:
    """2n + 1 requests for half a GPU on n GPUs."""
    return problem(node(n), [claim(requests(of("3g.20gb") for _ in range(2 * n + 1)))])


@family(2, 4, 6, 8)
def _halves_by_claims(n: int, random: Random) -> Object:
    """2n + 1 claims for half a GPU on n GPUs."""
    return problem(node(n), claims(requests([of("3g.20gb")]) for _ in range(2 * n + 1)))


@family(2, 4, 6, 8)
def _whole_by_claims_in_lists(n: int, random: Random) -> Object:
    """n + 1 claims for a whole GPU, as a partition of all of it or as the GPU itself."""
    each = [[first_of("r", [of("7g.40gb"), of("gpu")])] for _ in range(n + 1)]
    return problem(node(n), claims(each))


@family(2, 4, 6, 8)
def _quarters_on_busy_gpus(n: int, random: Random) -> Object:
    """Requests for 1g.10gb, four to a GPU; each GPU has a slice in use, and they need one GPU more."""
    allocated = busy(*((at, "1g.5gb", at % 7) for at in range(n)))
    return problem(node(n), [claim(requests(of("1g.10gb") for _ in range(min(32, 3 * n + 1))))], allocated=allocated)


@family(2, 3, 4, 6, 8)
def _eight_small_of_one_parent_in_pairs(n: int, random: Random) -> Object:
    """Eight of one parent, asked for as four counts of two."""
    asked = [request(f"r{at}", of("1g.5gb", 2)) for at in range(4)]
    return problem(node(n), [claim(asked, match("parentUUID"))])


@family(2, 3, 4, 6, 8)
def _eight_small_of_one_parent_and_a_nic(n: int, random: Random) -> Object:
    """Seven of one parent fit; the NIC of their root is in use but for the last GPU's, whose slices are in use."""
    nics = pool(
        [
            {"name": f"nic-{at}", "attributes": {f"{_ROOT}/pcieRoot": {"string": f"pci0000:{at // 2:02}"}}}
            for at in range(n)
        ],
        driver=OTHER,
    )
    asked = [*requests(of("1g.5gb") for _ in range(7)), request("nic", exactly(of_driver(OTHER)))]
    names = [one["name"] for one in asked[:-1]]
    constraints = [match("parentUUID", *names), match("pcieRoot", driver=_ROOT)]
    taken = holding((f"nic-{at}" for at in range(n) if at // 2 != (n - 1) // 2), driver=OTHER)
    allocated = [*taken, *busy(*((at, "1g.5gb", at % 7) for at in range(n) if at // 2 == (n - 1) // 2))]
    for one, name in zip(allocated, ("held", "older"), strict=True):
        one["metadata"] = {**one["metadata"], "name": name, "uid": name}
    return problem([*node(n), *nics], [claim(asked, *constraints)], allocated=allocated)


@family(3, 6, 9, 12, 16)
def _pairs_of_one_root_by_claims(n: int, random: Random) -> Object:
    """n claims of two NICs of one root; the last root has but one."""
    return problem(
        pool(_nics(2 * n - 1, 2)), claims([requests([exactly(), exactly()])] * n, match("pcieRoot", driver=_ROOT))
    )


@family(4, 8, 12, 20, 31)
def _one_more_than_distinct_roots(n: int, random: Random) -> Object:
    """n + 1 requests for NICs of distinct roots; each of n roots has four."""
    asked = requests(exactly() for _ in range(n + 1))
    return problem(pool(_nics(4 * n, 4)), [claim(asked, distinct("pcieRoot", driver=_ROOT))])


@family(4, 8, 12, 20, 31)
def _one_more_than_roots_of_two_kinds(n: int, random: Random) -> Object:
    """The same in two counts, one of which may use half of the roots only."""
    asked = [request("a", exactly(count=n // 2 + 1)), request("b", exactly(count=n - n // 2))]
    return problem(pool(_nics(4 * n, 4)), [claim(asked, distinct("pcieRoot", driver=_ROOT))])


@family(5, 10, 15, 20, 32)
def _shares_by_claims(n: int, random: Random) -> Object:
    """n claims for a share, two devices with room for n - 1 of them in all."""
    devices = [
        shared(one, bandwidth=room) for one, room in zip(_nics(2), (5 * (n // 2), 5 * ((n - 1) - n // 2)), strict=True)
    ]
    asked = exactly(capacity={"requests": {"bandwidth": "5"}})
    return problem(pool(devices), claims(requests([asked]) for _ in range(n)))


@family(5, 10, 15, 20, 32)
def _shares_of_two_sizes(n: int, random: Random) -> Object:
    """Large and small shares by turns on three devices; the total fits, the large ones do not."""
    devices = [shared(one, bandwidth=3 * (n // 2) - 1) for one in _nics(3)]
    sizes = [7 if at % 2 else 1 for at in range(n)]
    return problem(
        pool(devices), [claim(requests(exactly(capacity={"requests": {"bandwidth": str(one)}}) for one in sizes))]
    )


@family(4, 8, 12, 16, 20)
def _memory_by_requests(n: int, random: Random) -> Object:
    """Upstream's backtracking workload: CPUs of which the first draw most of the memory; a request each."""
    devices = [
        device(f"cpu-{at:02}", {"cpu": {f"c{at}": 1}, "memory": {"m": 20 if at < n // 2 else 10}}) for at in range(n)
    ]
    counters = {"cpu": {f"c{at}": 1 for at in range(n)}, "memory": {"m": 10 * (n // 2) + 10}}
    return problem(pool(devices, counters), [claim(requests(exactly() for _ in range(n // 2 + 1)))])


@family(4, 8, 12, 16, 20)
def _memory_by_claims(n: int, random: Random) -> Object:
    """The same, a claim each."""
    devices = [
        device(f"cpu-{at:02}", {"cpu": {f"c{at}": 1}, "memory": {"m": 20 if at < n // 2 else 10}}) for at in range(n)
    ]
    counters = {"cpu": {f"c{at}": 1 for at in range(n)}, "memory": {"m": 10 * (n // 2) + 10}}
    return problem(pool(devices, counters), claims(requests([exactly()]) for _ in range(n // 2 + 1)))


@family(2, 4, 8, 12, 16)
def _nics_in_lists_then_no_gpu(n: int, random: Random) -> Object:
    """Lists of four, two or one NIC, and then a GPU that nobody has."""
    asked = [first_of(f"r{at:02}", (exactly(count=count) for count in (4, 2, 1))) for at in range(n)]
    return problem(
        pool(_nics(16), driver=OTHER), [claim(asked), claim(requests([exactly(of_driver("gpu"))]), name="last")]
    )


@family(2, 4, 6, 8, 10)
def _aligned_pairs_by_claims(n: int, random: Random) -> Object:
    """A GPU and a NIC of one root for each of n claims; roots have two of each, and one NIC is in use."""
    gpus = pool(_nics(n + n % 2, 2))
    nics = pool(_nics(n + n % 2, 2), driver=OTHER)
    asked = requests([exactly(of_driver("gpu.example.com")), exactly(of_driver(OTHER))])
    allocated = holding([f"nic-{n // 2:02}"], driver=OTHER)
    return problem([*gpus, *nics], claims([asked] * (n + n % 2), match("pcieRoot", driver=_ROOT)), allocated=allocated)


@family(1, 2, 3, 4, 6, 8)
def _four_partitions_by_claims(n: int, random: Random) -> Object:
    """As many claims of 1g, 1g, 2g and 3g of one parent as there are GPUs, and one more."""
    asked = requests(map(of, ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")))
    return problem(node(n), claims([asked] * (n + 1), match("parentUUID")))


@family(1, 2, 3, 4, 6, 8)
def _one_of_each_profile(n: int, random: Random) -> Object:
    """A partition of each profile for n GPUs, where a whole one leaves too little for the rest."""
    profiles = ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
    return problem(node(n), [claim(requests(of(profiles[at % 6]) for at in range(min(32, 2 * n + 2))))])
