"""CEL: selectors of classes and requests, and derived attributes.

Source: ``validateSelector`` and ``validateDeviceDerivedAttribute`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``. The compiler is ``drakit_api.cel``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drakit_api import cel, limits
from drakit_api.validation import formats, names
from drakit_api.validation.errors import Errors, invalid, required, too_long
from drakit_api.validation.items import each, unique

# Attributes by the request, or request/subrequest, whose constraints use them; "" for constraints on all requests.
ConstraintAttributes = Mapping[str, set[str]]


def selectors(values: list[dict[str, Any]] | None, path: str) -> Errors:
    """Each compiles."""
    yield from each(values, path, _selector, maximum=limits.SELECTORS)


def _selector(value: dict[str, Any], path: str) -> Errors:
    if value.get("cel") is None:
        yield required(f"{path}.cel")
    else:
        yield from _expression(value["cel"].get("expression") or "", f"{path}.cel.expression")


def _expression(expression: str, path: str) -> Errors:
    if formats.byte_length(expression) > limits.CEL_EXPRESSION_LENGTH:
        yield too_long(path, limits.CEL_EXPRESSION_LENGTH)
        return
    try:
        cel.compile_selector(expression)
    except cel.CelCompileError as error:
        yield invalid(path, expression, str(error))


def derived_attributes(
    values: list[dict[str, Any]] | None, path: str, request: str, used: ConstraintAttributes
) -> Errors:
    """Names occur once, and a constraint on this request uses them."""

    def attribute(value: dict[str, Any], at: str) -> Errors:
        name = value.get("name") or ""
        if name and not _is_used(name, request, used):
            detail = "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this"
            yield invalid(f"{at}.name", name, f"{detail} request")

    yield from each(values, path, attribute)
    yield from unique(values, path, lambda value: value.get("name") or "", lambda value: value.get("name") or "")


def declared_derived_attribute(value: dict[str, Any], path: str) -> Errors:
    """There are a qualified name and an expression."""
    if not value.get("name"):
        yield required(f"{path}.name")
    else:
        yield from names.fully_qualified(value["name"], f"{path}.name")
    if not value.get("expression"):
        yield required(f"{path}.expression")


def constraint_attributes(constraints: list[dict[str, Any]] | None) -> ConstraintAttributes:
    """Which attributes the constraints of a claim use, by request."""
    used: dict[str, set[str]] = {}
    for constraint in constraints or ():
        name = constraint.get("matchAttribute", constraint.get("distinctAttribute"))
        if name is not None:
            for request in constraint.get("requests") or [""]:
                used.setdefault(request, set()).add(name)
    return used


def _is_used(name: str, request: str, used: ConstraintAttributes) -> bool:
    """A constraint on a request also holds for its subrequests."""
    return any(name in used.get(target, ()) for target in ("", request, request.partition("/")[0]))
