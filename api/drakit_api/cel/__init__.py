"""Expressions in CEL, evaluated as Kubernetes 1.37 does.

What is exported here is about device selectors. ``admission`` is for policies and match conditions,
``drakit_api.rules`` for the rules of custom resources.

``compile_selector`` parses, checks and compiles an expression once; ``Selector.matches`` then takes about a microsecond
and is thread-safe. ``device_view`` prepares a device for any number of selectors. ``check_selector`` is what the API
server does with an expression in a request.
"""

from __future__ import annotations

from drakit_api.cel.derived import DerivedAttribute, check_derived_attribute, compile_derived_attribute
from drakit_api.cel.device import DeviceView, device_view
from drakit_api.cel.errors import CelCompileError, CelError, CelProgramError, CelRuntimeError
from drakit_api.cel.selector import Selector, check_selector, compile_selector

__all__ = [
    "CelCompileError",
    "CelError",
    "CelProgramError",
    "CelRuntimeError",
    "DerivedAttribute",
    "DeviceView",
    "Selector",
    "check_derived_attribute",
    "check_selector",
    "compile_derived_attribute",
    "compile_selector",
    "device_view",
]
