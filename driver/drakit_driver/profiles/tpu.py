"""Pools of TPU chips on many nodes, with every slice that can be cut from them as a multi-host device.

Google's public driver publishes single nodes only; the devices here are those that KEP-4815 designed multi-host devices
for. A node is a VM with 2x2 chips. Sub-slices are cut hierarchically: one of topology HxW starts at a row that is a
multiple of H and a column that is a multiple of W, in the written orientation only, so two of them are nested or
disjoint. One counter a node keeps nested ones from being allocated together. Attributes are those of Google's driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Final

from drakit_api.core.node_selectors import HOSTNAME_LABEL
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool
from drakit_api.quantity import Quantity
from drakit_driver.profiles.reading.profile import Profile, Wanted

DRIVER = "tpu.google.com"

CHIPS_PER_NODE = 4
COUNTERS_PER_SET = 32

Topology = tuple[int, int]
# Smallest first: the scheduler takes the first device that fits, and should not break up a large slice for a small one.
TOPOLOGIES: Final[tuple[Topology, ...]] = ((2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16))


@dataclass(frozen=True, slots=True)
class Generation:
    """What Google's driver and documentation say of a TPU generation with a two-dimensional mesh."""

    accelerator: str
    name: str
    hbm_gib_per_chip: int


GENERATIONS: Final = {
    "v5e": Generation("tpu-v5-lite-podslice", "v5litepod", 16),
    "v6e": Generation("tpu-v6e-slice", "v6e", 32),
}


def profiles() -> list[Profile]:
    """Return each generation with each topology of more than one node."""
    return [
        Profile(
            name=f"tpu-{generation}-{text(topology)}",
            kind="tpu",
            summary=f"TPU {generation}: {topology[0] * topology[1]} chips on {node_count(topology)} nodes, "
            "and all its sub-slices",
            driver=DRIVER,
            nodes=node_count(topology),
        )
        for generation in GENERATIONS
        for topology in TOPOLOGIES[1:]
    ]


def pools(profile: Profile, wanted: Wanted) -> list[Pool]:
    """Return the one pool of a profile, which spans all nodes."""
    _, generation, shape = profile.name.split("-")
    rows, columns = map(int, shape.split("x"))
    made = pool(
        GENERATIONS[generation], (rows, columns), driver=wanted.driver, name=wanted.pool_name, nodes=wanted.nodes
    )
    return [made]


def node_count(topology: Topology) -> int:
    """Count the VMs of a pool."""
    return topology[0] * topology[1] // CHIPS_PER_NODE


def pool(generation: Generation, topology: Topology, *, driver: str, name: str, nodes: Sequence[str]) -> Pool:
    """Make a pool of the whole mesh; ``nodes`` names its VMs row by row, as many as ``node_count`` says."""
    counter_sets = _counter_sets(len(nodes))
    devices = [
        _device(generation, shape, index, members, nodes, counter_sets)
        for shape in TOPOLOGIES
        if shape[0] <= topology[0] and shape[1] <= topology[1]
        for index, members in zip(count(1), _tiles(topology, shape), strict=False)
    ]
    return Pool(
        driver=driver,
        name=name,
        shared_counters=[{"name": each, "counters": _counters(members)} for each, members in counter_sets.items()],
        devices=devices,
        per_device_node_selection=True,
    )


def text(topology: Topology) -> str:
    """Print a topology as ``4x8``: rows by columns."""
    return f"{topology[0]}x{topology[1]}"


def _tiles(pool: Topology, shape: Topology) -> Iterator[list[int]]:
    """Yield the VMs, numbered from 1, of each sub-slice of a shape, row by row."""
    per_row, (rows, columns) = pool[1] // 2, (shape[0] // 2, shape[1] // 2)
    for top, left in product(range(0, pool[0] // 2, rows), range(0, per_row, columns)):
        yield [row * per_row + column + 1 for row in range(top, top + rows) for column in range(left, left + columns)]


def _counter_sets(nodes: int) -> dict[str, list[int]]:
    """Group nodes by counter set: 32 counters in a set and two sets for a device, so 64 nodes are the most."""
    numbers = list(range(1, nodes + 1))
    if nodes <= COUNTERS_PER_SET:
        return {"tpu-counter-set": numbers}
    chunks = [numbers[start : start + COUNTERS_PER_SET] for start in range(0, nodes, COUNTERS_PER_SET)]
    return {f"tpu-counter-set-{index}": chunk for index, chunk in enumerate(chunks, start=1)}


def _counters(members: Sequence[int]) -> Object:
    return {f"tpus-node-{number}": {"value": str(CHIPS_PER_NODE)} for number in members}


def _device(
    generation: Generation,
    shape: Topology,
    index: int,
    members: Sequence[int],
    nodes: Sequence[str],
    counter_sets: dict[str, list[int]],
) -> Object:
    chips = shape[0] * shape[1]
    taken = {name: [each for each in members if each in available] for name, available in counter_sets.items()}
    return {
        "name": f"tpu-{text(shape)}-{index}",
        "attributes": {
            "accelerator": {"string": generation.accelerator},
            "brand": {"string": "Google"},
            "chipCount": {"int": chips},
            "hostCount": {"int": len(members)},
            "topology": {"string": text(shape)},
            "tpuGen": {"string": generation.name},
        },
        "capacity": {
            "hbm": {"value": str(Quantity.parse(f"{chips * generation.hbm_gib_per_chip}Gi"))},
            "tpus": {"value": str(chips)},
        },
        "consumesCounters": [
            {"counterSet": name, "counters": _counters(chosen)} for name, chosen in taken.items() if chosen
        ],
        **_node_selection([nodes[number - 1] for number in members]),
    }


def _node_selection(names: list[str]) -> Object:
    if len(names) == 1:
        return {"nodeName": names[0]}
    requirement = {"key": HOSTNAME_LABEL, "operator": "In", "values": names}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}
