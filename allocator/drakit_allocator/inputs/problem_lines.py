"""Lines that are meant to be allocation problems: whether they are, and if not, which field is to blame.

A problem may hold what no API server would take, for upstream's allocator was asked about such objects, too. So objects
are not judged before they are used; only where that fails is looked for what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import decoding
from drakit_api.objects.decoding import DecodeError
from drakit_api.objects.value_names import value_name
from drakit_api.validation import validate_create

_OBJECTS = ("features", "node")
# Lists of objects, with their kind and its plural; upstream's recorder writes null for a list that is empty.
_LISTS = {
    "classes": ("DeviceClass", "deviceclasses"),
    "slices": ("ResourceSlice", "resourceslices"),
    "claims": ("ResourceClaim", "resourceclaims"),
    "allocated": ("ResourceClaim", "resourceclaims"),
    "taintRules": ("DeviceTaintRule", "devicetaintrules"),
}
_ALL_ON = FeatureGates(overrides={"AllAlpha": True, "AllBeta": True})


class NoProblem(ValueError):
    """A line that is no allocation problem; the message names the field."""


def answered(line: bytes, answer: Callable[[Mapping[str, Any]], Object]) -> Object:
    """Pass the problem of a line to ``answer``. Raises ``NoProblem``."""
    try:
        problem = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NoProblem(str(error)) from None
    _check(problem)
    try:
        return answer(problem)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise NoProblem(next(_blamed(problem, error), reason)) from error


def _check(problem: Any) -> None:
    """Check the fields of the problem itself, and those of each object that are used without another check."""
    _expect_object(problem, "")
    for field in ("name", *_OBJECTS, "claims"):
        if field not in problem:
            raise NoProblem(f"{field}: required")
    for field in _OBJECTS:
        _expect_object(problem[field], f"{field}: ")
    if "allocatedState" in problem:
        _expect_object(problem["allocatedState"], "allocatedState: ")
    for field in _LISTS:
        objects = problem.get(field)
        if objects is not None and not isinstance(objects, list):
            raise NoProblem(f"{field}: a list is expected, not {value_name(objects)}")
        for number, obj in enumerate(objects or ()):
            _expect_object(obj, f"{field}[{number}]: ")


def _expect_object(value: Any, place: str) -> None:
    if not isinstance(value, dict):
        raise NoProblem(f"{place}an object is expected, not {value_name(value)}")


def _blamed(problem: Mapping[str, Any], error: Exception) -> Iterator[str]:
    """Yield what an API server would say: wrong types first, then missing fields if the error came from one."""
    objects = [
        (f"{field}[{number}]", kind, plural, obj)
        for field, (kind, plural) in _LISTS.items()
        for number, obj in enumerate(problem.get(field) or ())
    ]
    for place, kind, _, obj in objects:
        try:
            decoding.decode(kind, obj, strict=False)
        except DecodeError as refusal:
            yield f"{place}: {str(refusal).partition(f' cannot be handled as a {kind}: ')[2] or refusal}"
    if not isinstance(error, LookupError | AttributeError):
        return
    for place, _, plural, obj in objects:
        for member in ("metadata", "spec"):
            if obj.get(member) is None:
                yield f"{place}.{member}: required"
        for missing in validate_create(plural, obj, _ALL_ON, admin_namespace=True):
            if missing.reason == "FieldValueRequired" and missing.field.startswith("spec"):
                yield f"{place}: {missing}"
