"""What the scheduler tells of patches in events, which can hold 1,024 bytes."""

from __future__ import annotations

import pytest

from drakit_allocator.scheduler.diagnosis import MESSAGE_BYTES
from drakit_allocator.scheduler.reports import fault_message
from drakit_api.slice_patches.patch import PatchFault, SlicePatch

_PATCH = SlicePatch.of({"metadata": {"name": "p"}, "spec": {}})
_DEVICE = "gpu.example.com/n1/gpu-1"


@pytest.mark.parametrize(
    ("expression", "error", "end"),
    [
        pytest.param("device.x > 0", "no such key: x", "selector device.x > 0: no such key: x", id="a short one"),
        pytest.param("true && " * 900, "no such key: x", " ...: no such key: x", id="a long expression"),
        pytest.param("ä" * 1024, "no such key: x", "ä ...: no such key: x", id="one of letters of two bytes"),
        pytest.param("true && " * 900, "x" * 2000, "xxx ...", id="both are long"),
    ],
)
def test_a_fault_names_device_expression_and_error(expression: str, error: str, end: str) -> None:
    message = fault_message(PatchFault(_PATCH, _DEVICE, expression, error))
    assert message.startswith(f"does not apply to device {_DEVICE}: selector {expression[:10]}")
    assert message.endswith(end)
    assert len(message.encode()) <= MESSAGE_BYTES
