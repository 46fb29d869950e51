"""CEL: selectors of classes and requests, and derived attributes.

Source: ``validateSelector`` and ``validateDeviceDerivedAttribute`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``. The compiler is ``drakit_api.cel``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from drakit_api import cel, formats, limits
from drakit_api.features import FeatureGates
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, forbidden, internal, invalid, invalid_constant, required, too_long
from drakit_api.validation.items import each, name_of, unique

# Attributes by the request, or request/subrequest, whose constraints use them; "" for constraints on all requests.
_ConstraintAttributes = Mapping[str, set[str]]
# Of the version from which on lists have ``includes`` by themselves (k8s.io/apiserver pkg/cel/environment/base.go).
_INCLUDES_SINCE = (1, 37)
_UNUSED = "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"

# Whether the expression is that of a selector, or of a derived attribute; and the expression.
_Question = tuple[bool, str]
# By question: the greatest cost of the expression, or why it does not compile.
Outcomes = Mapping[_Question, "int | cel.CelCompileError"]
_known: ContextVar[Outcomes | None] = ContextVar("_known", default=None)


def expressions(body: Any) -> Iterator[tuple[bool, str]]:
    """Yield the CEL expressions anywhere in an object or a patch, each with whether it is a selector's."""
    pending = [body]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            selector = value.get("cel")
            if isinstance(selector, dict) and isinstance(expression := selector.get("expression"), str):
                yield True, expression
            elif isinstance(expression := value.get("expression"), str):
                yield False, expression
            elif str(path := value.get("path")).endswith("/expression") and isinstance(text := value.get("value"), str):
                yield str(path).endswith("/cel/expression"), text
            pending += [item for key, item in value.items() if isinstance(item, dict | list) and key != "cel"]


def checked(questions: Iterable[tuple[bool, str]], gates: FeatureGates) -> Outcomes:
    """Compile expressions, and return the outcomes for ``with_known``; may run in another thread than validation."""
    found: dict[_Question, int | cel.CelCompileError] = {}
    for is_selector, expression in questions:
        if formats.byte_length(expression) > limits.CEL_EXPRESSION_LENGTH:
            continue
        try:
            found[is_selector, expression] = _cost(is_selector, expression, gates)
        except cel.CelCompileError as error:
            found[is_selector, expression] = error
    return found


@contextlib.contextmanager
def with_known(outcomes: Outcomes) -> Iterator[None]:
    """Let validation inside of this block take what is known instead of compiling expressions again."""
    token = _known.set(outcomes)
    try:
        yield
    finally:
        _known.reset(token)


def _cost(is_selector: bool, expression: str, gates: FeatureGates) -> int:
    check = cel.check_selector if is_selector else cel.check_derived_attribute
    return check(
        expression,
        consumable_capacity=gates.enabled("DRAConsumableCapacity"),
        list_attributes=gates.enabled("DRAListTypeAttributes"),
        includes=gates.compatible_since >= _INCLUDES_SINCE,
    )


def selectors(values: list[dict[str, Any]] | None, path: str, gates: FeatureGates) -> Errors:
    """Check that each selector compiles, and that none can be too expensive."""

    def selector(value: dict[str, Any], at: str) -> Errors:
        if value.get("cel") is None:
            yield required(f"{at}.cel")
        else:
            expression = value["cel"].get("expression") or ""
            yield from _expression(expression, f"{at}.cel.expression", gates)

    yield from each(values, path, selector, maximum=limits.SELECTORS)


def _expression(expression: str, path: str, gates: FeatureGates, costs: list[int] | None = None) -> Errors:
    """Check a new expression of a selector or, with ``costs``, of a derived attribute, whose cost is added there."""
    if formats.byte_length(expression) > limits.CEL_EXPRESSION_LENGTH:
        yield too_long(path, limits.CEL_EXPRESSION_LENGTH)
        return
    try:
        cost = (_known.get() or {}).get((costs is None, expression))
        if cost is None:
            cost = _cost(costs is None, expression, gates)
        elif isinstance(cost, cel.CelCompileError):
            raise cost
    except cel.CelProgramError as error:
        yield internal(path, str(error))
    except cel.CelCompileError as error:
        yield invalid(path, expression, str(error))
    else:
        if cost > limits.CEL_EXPRESSION_COST:
            yield forbidden(path, "too complex, exceeds cost limit")
        if costs is not None:
            costs.append(cost)


class DerivedAttributes:
    """The derived attributes of a claim, whose costs have a limit together."""

    def __init__(self, constraints: list[dict[str, Any]] | None, gates: FeatureGates) -> None:
        self._used = _constraint_attributes(constraints)
        self._gates = gates
        self._costs: list[int] = []

    def of_request(self, values: list[dict[str, Any]] | None, path: str, request: str) -> Errors:
        """Check that names occur once and a constraint on the request uses them, and that expressions compile."""

        def attribute(value: dict[str, Any], at: str) -> Errors:
            name, expression = value.get("name") or "", value.get("expression") or ""
            if name and not _is_used(name, request, self._used):
                yield invalid_constant(f"{at}.name", name, _UNUSED)
            if expression:
                yield from _expression(expression, f"{at}.expression", self._gates, self._costs)

        yield from each(values, path, attribute)
        yield from unique([name_of(value) for value in values or ()], path)

    def of_claim(self, path: str) -> Errors:
        """Check the claim as a whole, once all requests are checked."""
        if sum(self._costs) > limits.CLAIM_DERIVED_ATTRIBUTES_COST:
            total = "total cost of derived attribute CEL expressions in the claim"
            yield forbidden(path, f"too complex, {total} exceeds cost limit")


def declared_derived_attribute(value: dict[str, Any], path: str) -> Errors:
    """Check that there are a qualified name and an expression."""
    if not value.get("name"):
        yield required(f"{path}.name")
    else:
        yield from names.fully_qualified(value["name"], f"{path}.name")
    if not value.get("expression"):
        yield required(f"{path}.expression")


def _constraint_attributes(constraints: list[dict[str, Any]] | None) -> _ConstraintAttributes:
    """Return the attributes that the constraints of a claim use, by request."""
    used: dict[str, set[str]] = {}
    for constraint in constraints or ():
        name = constraint.get("matchAttribute", constraint.get("distinctAttribute"))
        if name is not None:
            for request in constraint.get("requests") or [""]:
                used.setdefault(request, set()).add(name)
    return used


def _is_used(name: str, request: str, used: _ConstraintAttributes) -> bool:
    """Tell whether a constraint uses an attribute of a request; one on a request also holds for its subrequests."""
    return any(name in used.get(target, ()) for target in ("", request, request.partition("/")[0]))
