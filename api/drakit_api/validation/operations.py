"""Node operations that a driver does without (gate DRAOptionalNodeOperations).

Source: ``validateSkipNodeOperations`` of ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/validation/validation.go``,
and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from drakit_api.validation.errors import Errors, invalid, not_supported
from drakit_api.validation.items import declared_set, each

PREPARE, UNPREPARE, ALL = "NodePrepareResources", "NodeUnprepareResources", "*"
_SUPPORTED = [ALL, PREPARE, UNPREPARE]


def skipped_operations(values: list[str] | None, path: str) -> Errors:
    """Check that who is not asked to prepare is not asked to unprepare either."""
    if values and PREPARE in values and UNPREPARE not in values and ALL not in values:
        yield invalid(path, values, f"{PREPARE} cannot be skipped unless {UNPREPARE} is also skipped")


def declared_skipped_operations(values: list[str] | None, path: str) -> Errors:
    """Check that all operations are known, none twice."""
    yield from declared_set(values, path)
    yield from each(values, path, _operation)


def _operation(value: str, path: str) -> Errors:
    if value not in _SUPPORTED:
        yield not_supported(path, value, _SUPPORTED)
