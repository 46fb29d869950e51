"""The picture of a TPU pool: the mesh of its hosts, and which part of it each multi-host device covers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rich.box import SQUARE
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_kind.demo.allocated import Allocated, allocated, specs

_TPU_NODE = re.compile(r"tpus-node-(\d+)")


def mesh(
    slices: Sequence[ReadOnlyObject], claims: Sequence[ReadOnlyObject], driver: str, pods: Iterable[ReadOnlyObject] = ()
) -> RenderableType:
    """Draw the grid of a pool's hosts, each with the device that covers it, its claim, and the pods that run there.

    It is as wide as its names are, and at most as wide as the console: longer names continue on the next line.
    """
    held = allocated(slices, claims, driver)
    running = defaultdict(list)
    for pod in pods:
        running[pod["spec"].get("nodeName")].append(pod["metadata"]["name"])
    tables: list[RenderableType] = []
    for pool, columns in sorted(_hosts_in_a_row(slices, driver).items()):
        hosts = _host_names(slices, driver, pool)
        tables.append(Text(f"pool {pool}", style="bold"))
        table = Table(box=SQUARE, show_header=False, show_lines=True)
        for row in _rows(sorted(hosts), columns):
            table.add_row(*(_host_cell(number, hosts[number], pool, held, running) for number in row))
        tables.append(table)
    return Group(*tables)


def _host_cell(number: int, host: str, pool: str, held: list[Allocated], running: Mapping[str, list[str]]) -> Text:
    cell = Text(overflow="fold").append(host, style="bold")  # an ellipsis would cut, and is not ASCII
    for one in held:
        if one.pool == pool and any(counter == f"tpus-node-{number}" for _, counter in one.counters):
            cell.append("\n").append(one.device, style=one.style).append(f"\n{one.claim}")
    for pod in running.get(host, []):
        cell.append(f"\n{pod}", style="dim")
    return cell


def _hosts_in_a_row(slices: Iterable[ReadOnlyObject], driver: str) -> dict[str, int]:
    """Return pool -> hosts in a row, from the largest topology; a host is 2x2 chips."""
    chips: dict[str, int] = {}
    for spec in specs(slices, driver):
        for device in spec.get("devices") or []:
            topology = device.get("attributes", {}).get("topology", {}).get("string", "")
            if match := re.fullmatch(r"\d+x(\d+)", topology):
                pool = spec["pool"]["name"]
                chips[pool] = max(chips.get(pool, 2), int(match[1]))
    return {pool: width // 2 for pool, width in chips.items()}


def _host_names(slices: Iterable[ReadOnlyObject], driver: str, pool: str) -> dict[int, str]:
    """Return number of a host in its pool -> node name, from the devices that lie on one node."""
    hosts = {}
    for spec in specs(slices, driver):
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


def _rows(numbers: list[int], columns: int) -> list[list[int]]:
    return [numbers[start : start + columns] for start in range(0, len(numbers), columns)]
