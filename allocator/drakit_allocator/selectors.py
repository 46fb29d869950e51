"""CEL selectors of classes and requests against devices, with verdicts that are remembered by content.

A verdict depends on the expression and on the content of the device, not on node, pod or call. Upstream evaluates again
for every node and pod, which is half of its time.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    return [(selector.get("cel") or {}).get("expression") for selector in selectors or ()]


def verdict(content: DeviceContent, expression: str) -> bool | Exception:
    """Whether a device with this content satisfies the expression, or the error of compiling or evaluating it."""
    found = content.verdicts.get(expression)
    return found if found is not None else remember(content.verdicts, expression, _evaluate(content, expression))


def _evaluate(content: DeviceContent, expression: str) -> bool | Exception:
    try:
        return compile_selector(expression).matches(content.view)
    except CelError as error:
        return error.with_traceback(None)


@dataclass(frozen=True, slots=True)
class Matches:
    """Devices of a pool that satisfy some selectors, in the pool's order.

    ``faulty`` are devices among them on which an expression failed, with its position: an error for whoever visits one.
    """

    devices: tuple[Device, ...]
    faulty: Mapping[Device, tuple[int, Exception]]


def match(devices: tuple[Device, ...], expressions: tuple[str, ...]) -> Matches:
    """Evaluate the expressions on each device, up to the first that is false or fails."""
    matching: list[Device] = []
    faulty: dict[Device, tuple[int, Exception]] = {}
    for device in devices:
        for position, expression in enumerate(expressions):
            found = verdict(device.content, expression)
            if found is False:
                break
            if found is not True:
                faulty[device] = (position, found)
                matching.append(device)
                break
        else:
            matching.append(device)
    return Matches(tuple(matching), faulty)
