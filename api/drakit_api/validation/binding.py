"""Binding conditions: what must become true of a device before a pod is bound.

Source: ``validateDeviceBindingParameters`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import limits
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, invalid
from drakit_api.validation.items import declared_list, each, unique

_READY, _FAILED = "bindingConditions", "bindingFailureConditions"


def binding_conditions(value: dict[str, Any], path: str) -> Errors:
    """Check conditions and failure conditions of a device or an allocation result: both or none, and disjoint."""
    ready, failed = value.get(_READY), value.get(_FAILED)
    if not ready and not failed:
        return
    yield from each(ready, f"{path}.{_READY}", names.label_key, maximum=limits.BINDING_CONDITIONS)
    yield from each(failed, f"{path}.{_FAILED}", names.label_key, maximum=limits.BINDING_FAILURE_CONDITIONS)
    yield from unique(ready, f"{path}.{_READY}")
    yield from unique(failed, f"{path}.{_FAILED}")
    for index, condition in enumerate(failed or ()):
        if condition in (ready or ()):
            detail = f"{_FAILED} must not overlap with {_READY}"
            yield invalid(f"{path}.{_FAILED}[{index}]", condition, detail)
    if not ready:
        yield invalid(f"{path}.{_READY}", ready, f"{_READY} are required to use {_FAILED}")
    if not failed:
        yield invalid(f"{path}.{_FAILED}", failed, f"{_FAILED} are required to use {_READY}")


def declared_binding_conditions(value: dict[str, Any], path: str) -> Errors:
    """Check how many conditions there are."""
    yield from declared_list(value.get(_READY), limits.BINDING_CONDITIONS, f"{path}.{_READY}")
    yield from declared_list(value.get(_FAILED), limits.BINDING_FAILURE_CONDITIONS, f"{path}.{_FAILED}")
