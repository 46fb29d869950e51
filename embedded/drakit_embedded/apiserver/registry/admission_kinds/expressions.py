"""Expressions in policies and webhooks: that each compiles, in the environment that it will be evaluated in.

After validateVariable, validateValidation and the like in
k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go. Upstream, what a policy already has is
compiled with all that this release knows, and what is new with what the one before knew, too. As no expression that is
stored can be newer here, all are compiled alike.
"""

from __future__ import annotations

import re

from drakit_api.cel.errors import CelCompileError
from drakit_api.cel.values.types import BOOL, NULL, STRING, Type
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, invalid, required, too_many

_MOST_CONDITIONS = 64
_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)


class Scope:
    """The names that the expressions of one policy know: ``params``, and each of its variables after its definition."""

    def __init__(self, *, params: bool, composed: bool) -> None:
        """Begin without variables; ``composed`` says whether there is a ``variables`` at all."""
        self._params = params
        self._variables: dict[str, Type] | None = {} if composed else None

    def define(self, name: str, expression: str, path: str) -> Errors:
        """Check the expression of a variable, which has any type; one that does not compile is dynamic."""
        from drakit_api.cel import admission

        try:
            result = self._compiled(expression, ())
        except CelCompileError as error:
            yield invalid(path, expression, str(error))
            result = None
        if self._variables is not None:
            self._variables[name] = admission.variable_type(result)

    def check(
        self,
        expression: str,
        path: str,
        *returns: Type,
        authorizer: bool = True,
        patching: bool = False,
        shown: str = "",
    ) -> Errors:
        """Check that an expression compiles to one of some types; messages show it, or ``shown``."""
        try:
            self._compiled(expression, returns, authorizer=authorizer, patching=patching)
        except CelCompileError as error:
            yield invalid(path, shown or expression, str(error))

    def _compiled(
        self, expression: str, returns: tuple[Type, ...], *, authorizer: bool = True, patching: bool = False
    ) -> Type:
        # Imported here and above: it takes a tenth of a start, and few clusters have policies or match conditions.
        from drakit_api.cel import admission

        environment = admission.environment(
            params=self._params, authorizer=authorizer, variables=self._variables, patching=patching, new=True
        )
        return admission.compile(expression, environment, returns=returns).result


def match_conditions(conditions: list[Object] | None, path: str, *, params: bool) -> Errors:
    """Check the conditions under which a webhook or policy is asked; they know no variables."""
    conditions = conditions or []
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    scope, seen = Scope(params=params, composed=False), set()
    for index, condition in enumerate(conditions):
        yield from _match_condition(condition, scope, f"{path}[{index}]")
        name = condition.get("name")
        if name and name in seen:
            yield duplicate(f"{path}[{index}].name", name)
        seen.add(name)


def _match_condition(condition: Object, scope: Scope, path: str) -> Errors:
    expression, name = (condition.get("expression") or "").strip(), condition.get("name") or ""
    yield from scope.check(expression, f"{path}.expression", BOOL) if expression else [required(f"{path}.expression")]
    yield from names.label_key(name, f"{path}.name") if name else [required(f"{path}.name")]


def variable(value: Object, scope: Scope, path: str) -> Errors:
    """Check a variable, and define it for what comes after it."""
    name, expression = value.get("name") or "", value.get("expression") or ""
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from scope.define(name, expression, f"{path}.expression")


def audit_value(expression: str, scope: Scope, path: str) -> Errors:
    """Check the expression of an audit annotation: a text, or null for no annotation."""
    yield from scope.check(expression.strip(), path, STRING, NULL, shown=expression)
