"""Macros: calls that are rewritten before checking because they introduce a variable or test for presence.

Which exist, and what is wrong with a malformed one, is from cel-go v0.29 ``parser/macro.go``,
``ext/bindings.go``, ``ext/comprehensions.go`` and ``cel/library.go`` (optionals).
"""

from __future__ import annotations

from drakit_api.cel.syntax.tree import Bind, Call, Comprehension, Ident, Node, Select
from drakit_api.cel.syntax.visitor import copied, walk

# canonical name of (method, number of arguments); one variable unless listed in _TWO_VARIABLES
_ONE_VARIABLE = {
    ("all", 2): "all",
    ("exists", 2): "exists",
    ("exists_one", 2): "exists_one",
    ("map", 2): "map",
    ("map", 3): "map",
    ("filter", 2): "filter",
}
_TWO_VARIABLES = {
    ("all", 3): "all",
    ("exists", 3): "exists",
    ("existsOne", 3): "exists_one",
    ("exists_one", 3): "exists_one",
    ("transformList", 3): "transformList",
    ("transformList", 4): "transformList",
    ("transformMap", 3): "transformMap",
    ("transformMap", 4): "transformMap",
    ("transformMapEntry", 3): "transformMapEntry",
    ("transformMapEntry", 4): "transformMapEntry",
}
_MOST_COPIED = 2000  # nodes
_RESERVED = ("__result__", "@result")


class MacroError(ValueError):
    """A macro was called with unsuitable arguments."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def expand(call: Call) -> Node:
    """Replace a call of a macro by the node it stands for; return any other call as it is. Raises ``MacroError``."""
    if call.target is None:
        return _expand_has(call)
    key = call.function, len(call.arguments)
    if key == ("sortBy", 2):
        return _expand_sort_by(call, call.target)
    if key in _ONE_VARIABLE:
        return _expand_one_variable(call, call.target, _ONE_VARIABLE[key])
    if key in _TWO_VARIABLES:
        return _expand_two_variables(call, call.target, _TWO_VARIABLES[key])
    if key == ("bind", 3) and isinstance(call.target, Ident) and call.target.name == "cel":
        return _expand_bind(call)
    if key in (("optMap", 2), ("optFlatMap", 2)):
        return _expand_optional(call, call.target)
    return call


def _expand_has(call: Call) -> Node:
    if call.function != "has" or len(call.arguments) != 1:
        return call
    argument = call.arguments[0]
    # In has(has(x.y)), the argument of the outer has() is such a field as well.
    if not isinstance(argument, Select) or argument.optional:
        raise MacroError(argument.position, "invalid argument to has() macro")
    return Select(call.position, argument.operand, argument.name, presence=True)


def _expand_one_variable(call: Call, target: Node, macro: str) -> Node:
    complaint = "argument is not an identifier" if macro in ("map", "filter") else "argument must be a simple name"
    variable = _name(call.arguments[0], complaint)
    if variable.name in _RESERVED:
        raise MacroError(variable.position, "iteration variable overwrites accumulator variable")
    return Comprehension(call.position, macro, target, [variable.name], call.arguments[1:])


def _expand_two_variables(call: Call, target: Node, macro: str) -> Node:
    variables = []
    for argument in call.arguments[:2]:
        variable = _name(argument, "argument must be a simple name")
        if variable.name in _RESERVED:
            raise MacroError(variable.position, "iteration variable overwrites accumulator variable")
        variables.append(variable)
    if variables[0].name == variables[1].name:
        raise MacroError(variables[1].position, f"duplicate variable name: {variables[0].name}")
    return Comprehension(call.position, macro, target, [variable.name for variable in variables], call.arguments[2:])


def _expand_optional(call: Call, target: Node) -> Node:
    """Expand ``x.optMap(v, f)`` to ``x.hasValue() ? optional.of(f with v bound to x.value()) : optional.none()``."""
    complaint = f"{call.function}() variable name must be a simple identifier"
    variable = _name(call.arguments[0], complaint)
    at, optional = call.position, Ident(call.position, "optional")
    # Chains of them double what they begin with each time, for which upstream has no limit.
    if sum(1 for _ in walk(target)) > _MOST_COPIED:
        raise MacroError(at, f"{call.function}() on an expression that is too large after its macros are expanded")
    value = Call(at, "value", copied(target), [])
    mapped: Node = Bind(at, variable.name, value, call.arguments[1])
    if call.function == "optMap":
        mapped = Call(at, "of", optional, [mapped])
    condition = Call(at, "hasValue", target, [])
    return Call(at, "_?_:_", None, [condition, mapped, Call(at, "none", optional, [])])


def _expand_sort_by(call: Call, target: Node) -> Node:
    """Expand ``list.sortBy(x, key)`` to sorting by the list of all keys."""
    elements = Ident(call.position, "@__sortBy_input__")
    mapped = Call(call.position, "map", elements, call.arguments)
    keys = _expand_one_variable(mapped, elements, "map")
    return Bind(call.position, elements.name, target, Call(call.position, "@sortByAssociatedKeys", elements, [keys]))


def _expand_bind(call: Call) -> Node:
    variable = _name(call.arguments[0], "cel.bind() variable names must be simple identifiers")
    return Bind(call.position, variable.name, call.arguments[1], call.arguments[2], written=call)


def _name(argument: Node, complaint: str) -> Ident:
    if not isinstance(argument, Ident):
        raise MacroError(argument.position, complaint)
    return argument
