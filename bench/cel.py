"""Microseconds per evaluation and per compilation of five typical selectors, and per device prepared for them.

The scheduler evaluates a selector once for each device of each node it looks at, so the first column is what counts.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable

from bench.report import Report, Step
from drakit_api.cel import compile_selector, device_view

DRIVER = "gpu.nvidia.com"
DEVICE = {
    "name": "gpu-0-mig-1g.5gb-0",
    "attributes": {
        "type": {"string": "mig"},
        "profile": {"string": "1g.5gb"},
        "index": {"int": 3},
        "driverVersion": {"version": "570.86.15"},
        "productName": {"string": "NVIDIA A100-SXM4-40GB"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:01"},
    },
    "capacity": {"memory": {"value": "4864Mi"}},
}
SELECTORS = {
    "driver": 'device.driver == "gpu.nvidia.com"',
    "class": 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"',
    "capacity": 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("4Gi")) >= 0',
    "version": 'device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(semver("560.0.0"))',
    "optional": 'device.attributes["gpu.nvidia.com"].?profile.orValue("none") in ["1g.5gb", "2g.10gb"]',
}
ROUNDS = 50_000


def microseconds(function: Callable[[], object], rounds: int) -> float:
    """The mean time of a call."""
    start = time.perf_counter()
    for _ in range(rounds):
        function()
    return (time.perf_counter() - start) / rounds * 1e6


def run(step: Step, *, quick: bool = False) -> Report:
    """One row for each selector, and one for the view of a device that all of them are evaluated on."""
    rounds = 10 if quick else ROUNDS
    report = Report("CEL selectors, microseconds", ["selector", "evaluate", "compile"])
    view, compile_afresh = device_view(DRIVER, DEVICE), inspect.unwrap(compile_selector)
    with report.kept():
        for name, expression in SELECTORS.items():
            step(name)
            selector = compile_selector(expression)
            evaluate = microseconds(functools.partial(selector.matches, view), rounds)
            compiling = microseconds(functools.partial(compile_afresh, expression), 1 if quick else 100)
            report.rows.append([name, f"{evaluate:.2f}", f"{compiling:.0f}"])
        viewing = microseconds(lambda: device_view(DRIVER, DEVICE), rounds // 10)
        report.rows.append(["view of a device", f"{viewing:.2f}", "-"])
    return report
