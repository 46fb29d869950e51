"""Device selectors in CEL, evaluated as Kubernetes 1.37 does.

``compile_selector`` parses, checks and compiles an expression once; ``Selector.matches`` then takes about a microsecond
and is thread-safe. ``device_view`` prepares a device for any number of selectors.
"""

from __future__ import annotations

from .device import DeviceView, device_view
from .errors import CelCompileError, CelError, CelRuntimeError
from .selector import Selector, compile_selector

__all__ = [
    "CelCompileError",
    "CelError",
    "CelRuntimeError",
    "DeviceView",
    "Selector",
    "compile_selector",
    "device_view",
]
