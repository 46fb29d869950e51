"""The picture of GPUs with MIG: which memory slices of which GPU each partition lies on.

It is drawn for the width of the console. Names that do not fit into a partition's cells continue on further lines; what
still does not fit is cut with a mark, and written in full below the picture.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_kind.demo.allocated import Allocated, allocated, natural, specs

_MEMORY_SLICE = re.compile(r"memory-slice-(\d+)")
_LINES = 3  # of one name in a partition's cells, at most
_NARROWEST, _WIDEST = 3, 24  # characters for one memory slice


@dataclass(frozen=True)
class Partition:
    """A device, the first memory slice that it lies on, and how many those are."""

    start: int
    length: int
    device: Allocated

    @property
    def where(self) -> str:
        """The numbers of its memory slices."""
        return f"{self.start}" if self.length == 1 else f"{self.start}-{self.start + self.length - 1}"

    def width(self, cell: int) -> int:
        """Count the characters between its borders, if a memory slice is ``cell`` characters wide."""
        return self.length * (cell + 1) - 1


@dataclass(frozen=True)
class Gpu:
    """One counter set with memory slices, and the partitions that are in use, by their place."""

    name: str
    slices: int
    partitions: tuple[Partition, ...]


def gpus(slices: Sequence[ReadOnlyObject], claims: Sequence[ReadOnlyObject], driver: str) -> RenderableType:
    """Draw a row of memory slices for each GPU (counter set) of each pool, with the partitions that lie on them."""
    held = allocated(slices, claims, driver)
    return Group(
        *(
            _Pool(pool, [_gpu(pool, name, counters, held) for name, counters in _in_order(counter_sets)])
            for pool, counter_sets in sorted(_counter_sets(slices, driver).items())
        )
    )


def _in_order(counter_sets: Mapping[str, ReadOnlyObject]) -> list[tuple[str, ReadOnlyObject]]:
    return sorted(counter_sets.items(), key=lambda item: natural(item[0]))


def _counter_sets(slices: Iterable[ReadOnlyObject], driver: str) -> dict[str, dict[str, ReadOnlyObject]]:
    """Return pool -> counter set -> counters, of those that have memory slices."""
    found: dict[str, dict[str, ReadOnlyObject]] = defaultdict(dict)
    for spec in specs(slices, driver):
        for counter_set in spec.get("sharedCounters") or []:
            if any(_MEMORY_SLICE.fullmatch(counter) for counter in counter_set["counters"]):
                found[spec["pool"]["name"]][counter_set["name"]] = counter_set["counters"]
    return found


def _gpu(pool: str, counter_set: str, counters: ReadOnlyObject, held: Iterable[Allocated]) -> Gpu:
    partitions = [
        Partition(min(numbers), len(numbers), one)
        for one in held
        if one.pool == pool and (numbers := _memory_slices(counter_set, one))
    ]
    width = sum(1 for counter in counters if _MEMORY_SLICE.fullmatch(counter))
    in_place = sorted(partitions, key=lambda partition: partition.start)
    return Gpu(counter_set.removesuffix("-counter-set"), width, tuple(in_place))


def _memory_slices(counter_set: str, one: Allocated) -> list[int]:
    return [
        int(match[1])
        for name, counter in one.counters
        if name == counter_set and (match := _MEMORY_SLICE.fullmatch(counter))
    ]


@dataclass(frozen=True)
class _Pool:
    """The picture of one pool; how wide a memory slice is, the console decides."""

    name: str
    gpus: Sequence[Gpu]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"pool {self.name}", style="bold")
        label = max(len("slice"), *(len(gpu.name) for gpu in self.gpus))
        columns = max(gpu.slices for gpu in self.gpus)
        cell = min((options.max_width - label - 2) // columns - 1, self._wanted())
        signs = _Signs("|", "~") if options.ascii_only else _Signs("│", "…")
        if cell < _NARROWEST:
            yield from self._listed(lambda _: True)
            return
        drawing = _Drawing(cell, label, signs)
        yield drawing.heading(columns)
        for gpu in self.gpus:
            yield from drawing.gpu(gpu)
        yield from self._in_full(drawing)

    def _wanted(self) -> int:
        """As many characters for a memory slice as the names of all partitions need on one line."""
        needs = [
            -(-(len(text) + 1) // partition.length) - 1
            for gpu in self.gpus
            for partition in gpu.partitions
            for text in (partition.device.label, partition.device.claim)
        ]
        return min(max([8, *needs]), _WIDEST)

    def _in_full(self, drawing: _Drawing) -> Iterator[Text]:
        lines = list(self._listed(drawing.cuts))
        if lines:
            yield Text(f"in full, where {drawing.signs.cut} stands above (GPU, slices, device, claim):", style="dim")
            yield from lines

    def _listed(self, chosen: Callable[[Partition], bool]) -> Iterator[Text]:
        for gpu in self.gpus:
            for partition in filter(chosen, gpu.partitions):
                device = partition.device
                yield (
                    Text(f"  {gpu.name} {partition.where:<3} ")
                    .append(device.label, style=device.style)
                    .append(f" {device.claim}")
                )


@dataclass(frozen=True)
class _Signs:
    """What stands between memory slices, and what ends a name that was cut."""

    border: str
    cut: str


@dataclass(frozen=True)
class _Drawing:
    """Lines of a picture in which a memory slice has ``cell`` characters, after ``label`` for the name of a GPU."""

    cell: int
    label: int
    signs: _Signs

    def heading(self, columns: int) -> Text:
        numbers = "".join(f"{number:^{self.cell}} " for number in range(columns))
        return Text(f"{'slice':>{self.label}}  {numbers}".rstrip(), style="dim")

    def gpu(self, gpu: Gpu) -> Iterator[Text]:
        """Draw one GPU: the devices, and below them the claims, on as many lines as their names need."""
        names = [self._names(partition) for partition in gpu.partitions]
        for number in range(max(map(len, names), default=1)):
            line = Text(f"{gpu.name if number == 0 else '':>{self.label}} {self.signs.border}")
            position = 0
            for partition, lines in zip(gpu.partitions, names, strict=True):
                line.append(self._free(partition.start - position))
                text = lines[number] if number < len(lines) else ""
                width = partition.width(self.cell)
                line.append(text.center(width), style=partition.device.style).append(self.signs.border)
                position = partition.start + partition.length
            yield line.append(self._free(gpu.slices - position))

    def cuts(self, partition: Partition) -> bool:
        """Tell whether a name of a partition is not there in full."""
        return "".join(self._names(partition)) != partition.device.label + partition.device.claim

    def _names(self, partition: Partition) -> list[str]:
        width = partition.width(self.cell)
        return [*self._name(partition.device.label, width), *self._name(partition.device.claim, width)]

    def _name(self, name: str, width: int) -> list[str]:
        lines = _folded(name, width)
        fits = len(lines) <= _LINES and all(len(line) <= width for line in lines)
        return lines if fits else [name[: width - 1] + self.signs.cut]

    def _free(self, slices: int) -> Text:
        return Text((" " * self.cell + self.signs.border) * slices, style="dim")


def _folded(name: str, width: int) -> list[str]:
    """Break a name after hyphens and before plus signs; a part that is longer than ``width`` stays whole."""
    lines = [""]
    for part in re.split(r"(?<=-)|(?=\+)", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines
