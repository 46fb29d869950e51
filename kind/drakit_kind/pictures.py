"""Pictures of who got which device, drawn from API objects alone.

They show what a reader of claim statuses has to work out in the head: which memory slices of which GPU a partition
sits on, and which part of the TPU mesh a multi-host device covers. Whoever's driver published the slices, they are
drawn from its counters, so that the picture is what the scheduler counts with.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SQUARE
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Object = Mapping[str, Any]

_MEMORY_SLICE = re.compile(r"memory-slice-(\d+)")
_TPU_NODE = re.compile(r"tpus-node-(\d+)")
_COLORS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_green")
_CELL = 11  # characters for one memory slice


@dataclass(frozen=True)
class Allocated:
    """One device that a claim holds, with the counters that it consumes: ``{(counter set, counter)}``."""

    pool: str
    device: str
    label: str
    claim: str
    counters: frozenset[tuple[str, str]]


def allocated(slices: Iterable[Object], claims: Iterable[Object], driver: str) -> list[Allocated]:
    """What the claims hold of one driver's devices."""
    devices = {
        (item["spec"]["pool"]["name"], device["name"]): device
        for item in slices
        if item["spec"]["driver"] == driver
        for device in item["spec"].get("devices") or []
    }
    found = []
    for claim in claims:
        results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
        for result in results:
            device = devices.get((result["pool"], result["device"]))
            if result["driver"] == driver and device is not None and not result.get("adminAccess"):
                found.append(_allocated(result, device, claim["metadata"]["name"]))
    return found


def _allocated(result: Object, device: Object, claim: str) -> Allocated:
    attributes = device.get("attributes", {})
    label = attributes.get("profile", {}).get("string") or device["name"]
    counters = frozenset(
        (consumption["counterSet"], counter)
        for consumption in device.get("consumesCounters", [])
        for counter in consumption["counters"]
    )
    return Allocated(result["pool"], result["device"], label, claim, counters)


def gpus(slices: Sequence[Object], claims: Sequence[Object], driver: str) -> RenderableType:
    """For each GPU (counter set) a row of its memory slices, with the partitions that lie on them."""
    held = allocated(slices, claims, driver)
    rows: list[RenderableType] = []
    for pool, counter_sets in sorted(_counter_sets(slices, driver).items()):
        rows.append(Text(f"pool {pool}", style="bold"))
        for name, counters in sorted(counter_sets.items(), key=lambda item: _natural(item[0])):
            width = sum(1 for counter in counters if _MEMORY_SLICE.fullmatch(counter))
            mine = [one for one in held if one.pool == pool and any(set_name == name for set_name, _ in one.counters)]
            rows.append(_gpu_row(name, width, mine))
    return Group(*rows)


def _gpu_row(counter_set: str, width: int, held: list[Allocated]) -> Text:
    row = Text(f"{counter_set.removesuffix('-counter-set'):>8} │")
    spans = sorted((*_span(counter_set, one), one) for one in held)
    position = 0
    for start, length, one in spans:
        row.append(_free(start - position))
        row.append(_block(one, length))
        position = start + length
    return row.append(_free(width - position))


def _span(counter_set: str, one: Allocated) -> tuple[int, int]:
    numbers = sorted(
        int(match[1])
        for name, counter in one.counters
        if name == counter_set and (match := _MEMORY_SLICE.fullmatch(counter))
    )
    return numbers[0], len(numbers)


def _free(slices: int) -> Text:
    return Text((" " * _CELL + "│") * slices, style="dim")


def _block(one: Allocated, slices: int) -> Text:
    width = slices * (_CELL + 1) - 1
    text = f"{one.label} {one.claim}" if slices > 1 else one.label
    block = Text(text[:width].center(width), style=f"black on {_color(one.claim)}")
    return block.append("│", style="default on default")


def mesh(
    slices: Sequence[Object], claims: Sequence[Object], driver: str, pods: Iterable[Object] = ()
) -> RenderableType:
    """The grid of a TPU pool's hosts, each with the device that covers it and the pods that run there."""
    held = allocated(slices, claims, driver)
    running = defaultdict(list)
    for pod in pods:
        running[pod["spec"].get("nodeName")].append(pod["metadata"]["name"])
    tables: list[RenderableType] = []
    for pool, columns in sorted(_mesh_columns(slices, driver).items()):
        hosts = _host_names(slices, driver, pool)
        table = Table(box=SQUARE, show_header=False, show_lines=True, title=f"pool {pool}", title_style="bold")
        for row in _rows(sorted(hosts), columns):
            table.add_row(*(_host_cell(number, hosts[number], pool, held, running) for number in row))
        tables.append(table)
    return Group(*tables)


def _host_cell(number: int, host: str, pool: str, held: list[Allocated], running: Mapping[str, list[str]]) -> Text:
    cell = Text(host, style="bold")
    for one in held:
        if one.pool == pool and any(counter == f"tpus-node-{number}" for _, counter in one.counters):
            cell.append(f"\n{one.device}", style=f"black on {_color(one.claim)}")
            cell.append(f"\n{one.claim}", style="default on default")
    for pod in running.get(host, []):
        cell.append(f"\n{pod}", style="dim")
    return cell


def _counter_sets(slices: Iterable[Object], driver: str) -> dict[str, dict[str, Object]]:
    """pool -> counter set -> counters, of those that have memory slices."""
    found: dict[str, dict[str, Object]] = defaultdict(dict)
    for spec in _specs(slices, driver):
        for counter_set in spec.get("sharedCounters") or []:
            if any(_MEMORY_SLICE.fullmatch(counter) for counter in counter_set["counters"]):
                found[spec["pool"]["name"]][counter_set["name"]] = counter_set["counters"]
    return found


def _mesh_columns(slices: Iterable[Object], driver: str) -> dict[str, int]:
    """pool -> hosts in a row, from the largest topology; a host is 2x2 chips."""
    chips: dict[str, int] = {}
    for spec in _specs(slices, driver):
        for device in spec.get("devices") or []:
            topology = device.get("attributes", {}).get("topology", {}).get("string", "")
            if match := re.fullmatch(r"\d+x(\d+)", topology):
                pool = spec["pool"]["name"]
                chips[pool] = max(chips.get(pool, 2), int(match[1]))
    return {pool: width // 2 for pool, width in chips.items()}


def _host_names(slices: Iterable[Object], driver: str, pool: str) -> dict[int, str]:
    """Number of a host in its pool -> node name, from the devices that lie on one node."""
    hosts = {}
    for spec in _specs(slices, driver):
        for device in spec.get("devices") or []:
            numbers = [
                int(match[1])
                for consumption in device.get("consumesCounters", [])
                for counter in consumption["counters"]
                if (match := _TPU_NODE.fullmatch(counter))
            ]
            if spec["pool"]["name"] == pool and len(numbers) == 1:
                hosts[numbers[0]] = device.get("nodeName") or f"host {numbers[0]}"
    return hosts


def _specs(slices: Iterable[Object], driver: str) -> Iterator[Any]:
    return (item["spec"] for item in slices if item["spec"]["driver"] == driver)


def _rows(numbers: list[int], columns: int) -> list[list[int]]:
    return [numbers[start : start + columns] for start in range(0, len(numbers), columns)]


def _natural(name: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _color(claim: str) -> str:
    return _COLORS[sum(claim.encode()) % len(_COLORS)]
