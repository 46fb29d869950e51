"""What the ``scale`` subresource of a custom resource asks of its object: replicas that are numbers, a selector text.

k8s.io/apiextensions-apiserver v0.37 pkg/registry/customresource (validator.go, etcd.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from drakit_api.golang.gostrings import formatted
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError, invalid

if TYPE_CHECKING:
    from drakit_embedded.apiserver.scheme.definitions import Scale

_MOST = 2**31 - 1


class WrongValue(ValueError):
    """A value is not of the type that its path promises; the message is Go's."""


def number(obj: Object, path: tuple[str, ...]) -> int | None:
    """Read the integer at a path, None if there is none (unstructured.NestedInt64). Raises ``WrongValue``."""
    found = _nested(obj, path)
    if found is not None and type(found) is not int:
        raise WrongValue(misfit(path, found, "int64"))
    return found


def text(obj: Object, path: tuple[str, ...]) -> str:
    """Read the text at a path; empty if there is none (unstructured.NestedString). Raises ``WrongValue``."""
    found = _nested(obj, path)
    if found is not None and not isinstance(found, str):
        raise WrongValue(misfit(path, found, "string"))
    return found or ""


def _nested(obj: Object, path: tuple[str, ...]) -> Any:
    found: Any = obj
    for depth, key in enumerate(path):
        if found is None:
            return None
        if not isinstance(found, dict):
            raise WrongValue(misfit(path[: depth + 1], found, "map[string]interface{}"))
        found = found.get(key)
    return found


def misfit(path: tuple[str, ...], value: Any, wanted: str) -> str:
    """Say that a field is not of the Go type that it is read as (``unstructured.NestedFieldNoCopy`` and others)."""
    return f".{'.'.join(path)} accessor error: {formatted(value)} is of the type {_go_type(value)}, expected {wanted}"


def _go_type(value: Any) -> str:
    names = {type(None): "<nil>", bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def faults_of_spec(obj: Object, scale: Scale) -> Iterator[FieldError]:
    """Check the wanted replicas."""
    return _faults_of_number(obj, scale.replicas, scale.paths[0])


def faults_of_status(obj: Object, scale: Scale) -> Iterator[FieldError]:
    """Check the replicas that there are, and the selector."""
    yield from _faults_of_number(obj, scale.status_replicas, scale.paths[1])
    if scale.selector:
        try:
            text(obj, scale.selector)
        except WrongValue as error:
            yield invalid(scale.paths[2], "", str(error))


def _faults_of_number(obj: Object, path: tuple[str, ...], shown: str) -> Iterator[FieldError]:
    try:
        found = number(obj, path) or 0
    except WrongValue as error:
        yield invalid(shown, 0, str(error))
        return
    if found < 0:
        yield invalid(shown, found, "should be a non-negative integer")
    elif found > _MOST:
        yield invalid(shown, found, f"should be less than or equal to {_MOST}")
