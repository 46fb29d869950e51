"""CEL selectors of classes and requests, and what is said when one of them fails on a device."""

from __future__ import annotations

from dataclasses import dataclass

from drakit_allocator.devices.devices import Device, DeviceContent
from drakit_allocator.devices.remembered_values import selector
from drakit_allocator.errors import AllocationError
from drakit_api.cel import CelCompileError

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
        """Make the error of an allocation in which the expression at ``position`` fails on ``device``."""
        is_class = position < self.from_class
        owner = f"class {self.class_name}" if is_class else f"claim {self.claim_name}"
        number = position if is_class else position - self.from_class
        if isinstance(error, CelCompileError):
            return AllocationError(f"{owner}: selector #{number}: CEL compile error: {error}")
        text = f"{error}. {_HINT}" if "no such key:" in str(error) else str(error)
        return AllocationError(f"{owner}: selector #{number} on device {device.name}: CEL runtime error: {text}")


def verdict(content: DeviceContent, expression: str) -> bool | Exception:
    """Return whether a device with this content satisfies the expression, or the error of compiling or running it."""
    return selector(content.driver, expression, content.names, content.spoiled).of_device(content)
