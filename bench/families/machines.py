"""Machines with several drivers: GPUs, NICs, CPUs and memory that must be near each other."""

from __future__ import annotations

from random import Random

from bench.families.parts import (
    OTHER,
    claim,
    claims,
    device,
    distinct,
    exactly,
    first_of,
    match,
    of_driver,
    pool,
    problem,
    request,
    requests,
    shared,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object

GPU, CPU = "gpu.example.com", "cpu.example.com"
_NUMA = "example.com"


def _near(name: str, numa: int, root: int) -> Object:
    return {"name": name, "attributes": {"example.com/numa": {"int": numa}, "example.com/root": {"int": root}}}


def _machine(nodes: int, gpus: int, nics: int, cores: int, bandwidth: int) -> list[Object]:
    """NUMA nodes with GPUs, NICs that are shared, and CPUs that have their cores shared."""
    slices = pool(
        [_near(f"gpu-{numa}-{at}", numa, 2 * numa + at % 2) for numa in range(nodes) for at in range(gpus)], driver=GPU
    )
    slices += pool(
        [
            shared(_near(f"nic-{numa}-{at}", numa, 2 * numa + at % 2), bandwidth=bandwidth)
            for numa in range(nodes)
            for at in range(nics)
        ],
        driver=OTHER,
    )
    return slices + pool(
        [shared(_near(f"cpu-{numa}", numa, 2 * numa), cores=cores) for numa in range(nodes)], driver=CPU
    )


def _share(driver: str, **amounts: int) -> Object:
    return exactly(of_driver(driver), capacity={"requests": {name: str(one) for name, one in amounts.items()}})


@family(2, 4, 6, 8)
def _numa_aligned_claims(n: int, random: Random) -> Object:
    """A GPU, bandwidth and cores of one NUMA node a claim; the cores are enough for all claims but one."""
    asked = requests([exactly(of_driver(GPU)), _share(OTHER, bandwidth=40), _share(CPU, cores=9)])
    return problem(_machine(n, 4, 2, 35, 100), claims([asked] * (3 * n + 1), match("numa", driver=_NUMA)))


@family(2, 4, 6, 8)
def _numa_aligned_claims_of_many_sizes(n: int, random: Random) -> Object:
    """The same with other sizes for each claim, which nearly fill all cores."""
    sizes = [random.randint(5, 15) for _ in range(3 * n)]
    each = [
        requests([exactly(of_driver(GPU)), _share(OTHER, bandwidth=3 * size), _share(CPU, cores=size)])
        for size in sizes
    ]
    return problem(_machine(n, 4, 2, sum(sizes) // n + 1, 60), claims(each, match("numa", driver=_NUMA)))


@family(2, 4, 6, 8)
def _one_claim_of_aligned_groups(n: int, random: Random) -> Object:
    """n groups in one claim, each of two GPUs of one root and a NIC of their NUMA node, NICs all different."""
    asked, constraints = [], []
    for at in range(n):
        names = [f"a{at}", f"b{at}", f"n{at}"]
        asked += [request(name, exactly(of_driver(GPU))) for name in names[:2]]
        asked.append(request(names[2], _share(OTHER, bandwidth=30)))
        constraints += [match("root", *names[:2], driver=_NUMA), match("numa", *names, driver=_NUMA)]
    return problem(_machine(n, 3, 1, 1, 30), [claim(asked, *constraints)])


@family(2, 4, 6, 8)
def _groups_that_prefer_to_be_aligned(n: int, random: Random) -> Object:
    """Lists: two GPUs of a NUMA node if they can be had, else one; NICs must be near, and are few."""
    asked, constraints = [], []
    for at in range(2 * n):
        asked.append(first_of(f"g{at}", [exactly(of_driver(GPU), count=count) for count in (2, 1)]))
        asked.append(request(f"n{at}", _share(OTHER, bandwidth=random.randint(10, 40))))
        constraints.append(match("numa", f"g{at}", f"n{at}", driver=_NUMA))
    return problem(_machine(n, 3, 2, 1, 60), [claim(asked, *constraints)])


@family(4, 6, 8, 12, 16)
def _modes_of_counter_sets(n: int, random: Random) -> Object:
    """Partitions of a chip must have a compatibility group in common; requests mix modes, and chips are one too few."""
    devices = []
    for chip in range(n):
        for at, groups in enumerate((["mig"], ["mig"], ["vgpu"], ["vgpu"], ["mig", "vgpu"])):
            one = device(
                f"d{chip:02}-{at}", {f"chip{chip}": {"c": 1}}, mode=groups[0] if len(groups) == 1 else "both", chip=chip
            )
            one["consumesCounters"][0]["compatibilityGroups"] = groups
            devices.append(one)
    modes = [("mig", "vgpu", "both")[at % 3] for at in range(n)] + ["vgpu"] * n
    asked = requests(exactly(where("mode", "==", mode)) for mode in modes[:32])
    names = [one["name"] for one in asked]
    slices = pool(devices, {f"chip{chip}": {"c": 3} for chip in range(n)})
    return problem(slices, [claim(asked, distinct("chip", *names[:n]))], features="all")
