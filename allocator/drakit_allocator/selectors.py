"""CEL selectors of classes and requests against devices, with verdicts that are remembered by content.

A verdict depends on the expression and on the content of the device, not on node, pod or call. Upstream evaluates again
for every node and pod, which is half of its time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drakit_allocator.devices import Device, DeviceContent, remember
from drakit_allocator.errors import AllocationError
from drakit_api.cel import CelCompileError, CelError, compile_selector

_HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


@dataclass(frozen=True, slots=True)
class Selectors:
    """The expressions of a class, then those of a request: a device must satisfy all, tried in this order."""

    expressions: tuple[str, ...]
    from_class: int  # how many of the expressions are the class's
    class_name: str
    claim_name: str  # namespace/name

    def fault(self, device: Device, position: int, error: Exception) -> AllocationError:
        """The error of an allocation that came to evaluate the expression at ``position`` on ``device``."""
        is_class = position < self.from_class
        owner = f"class {self.class_name}" if is_class else f"claim {self.claim_name}"
        number = position if is_class else position - self.from_class
        if isinstance(error, CelCompileError):
            return AllocationError(f"{owner}: selector #{number}: CEL compile error: {error}")
        text = f"{error}. {_HINT}" if "no such key:" in str(error) else str(error)
        return AllocationError(f"{owner}: selector #{number} on device {device.name}: CEL runtime error: {text}")


def expressions_of(selectors: list[Mapping[str, Any]] | None) -> list[str | None]:
    """The CEL expressions of a list of v1 selectors; None for one of another, future type."""
    return [
        None if selector.get("cel") is None else selector["cel"].get("expression", "") for selector in selectors or ()
    ]


def verdict(content: DeviceContent, expression: str) -> bool | Exception:
    """Whether a device with this content satisfies the expression, or the error of compiling or evaluating it."""
    found = content.verdicts.get(expression)
    return found if found is not None else remember(content.verdicts, expression, _evaluate(content, expression))


def _evaluate(content: DeviceContent, expression: str) -> bool | Exception:
    try:
        return compile_selector(expression).matches(content.view)
    except CelError as error:
        return error.with_traceback(None)


class Matches:
    """Devices of a pool that satisfy some selectors, in the pool's order; found out as far as somebody iterates.

    ``faulty`` are devices among them on which an expression failed, with its position: an error for whoever visits one.
    An expression that fails may be one that runs into the cost limit, and should not do so on every device.
    """

    __slots__ = ("_devices", "_expressions", "_found", "_position", "faulty")

    def __init__(self, devices: tuple[Device, ...], expressions: tuple[str, ...]) -> None:
        self.faulty: dict[Device, tuple[int, Exception]] = {}
        self._devices = devices
        self._expressions = expressions
        self._position = 0
        self._found: list[Device] = []

    def __iter__(self) -> Iterator[Device]:
        number = 0
        while number < len(self._found) or self._find():
            yield self._found[number]
            number += 1

    def _find(self) -> bool:
        """Evaluate up to the next device that matches or is faulty."""
        while self._position < len(self._devices):
            device = self._devices[self._position]
            self._position += 1
            if self._matches(device):
                self._found.append(device)
                return True
        return False

    def _matches(self, device: Device) -> bool:
        """Up to the first expression that is false or fails."""
        for number, expression in enumerate(self._expressions):
            found = verdict(device.content, expression)
            if found is not True:
                if found is False:
                    return False
                self.faulty[device] = (number, found)
                return True
        return True
