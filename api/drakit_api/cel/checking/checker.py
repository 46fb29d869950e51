"""The type checker: gives every node its type and every call its candidate overloads, or says what is wrong.

It follows cel-go v0.29 ``checker/checker.go`` so closely because its complaints are what users see at admission.
"""

from __future__ import annotations

from typing import Any

from drakit_api.cel.checking.environment import Environment
from drakit_api.cel.checking.validators import validate
from drakit_api.cel.errors import CelCompileError, Problem, describe
from drakit_api.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    name_of,
)
from drakit_api.cel.syntax.visitor import Visitor, dotted_name
from drakit_api.cel.values import types
from drakit_api.cel.values.declarations import Functions, Overload
from drakit_api.cel.values.types import BOOL, DYN, ERROR, INT, Type
from drakit_api.cel.values.values import Uint

_LITERAL_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}


def check(source: str, tree: Node, environment: Environment) -> Type:
    """Annotate the tree and return the type of its result. Raises ``CelCompileError`` with all problems found."""
    checker = _Checker(environment)
    checker.visit(tree)
    if checker.problems:
        raise CelCompileError("compilation failed: " + describe(source, checker.problems))
    checker.finish()
    problems = validate(tree)
    if problems:
        raise CelCompileError("compilation failed: " + describe(source, problems))
    return tree.type


class _Checker(Visitor[Type]):
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._functions: Functions = environment.functions
        self._scopes: list[dict[str, Type]] = []
        self._substitution = types.Substitution()
        self._checked: list[Node] = []
        self.problems: list[Problem] = []

    def finish(self) -> None:
        """Replace type variables in all nodes by what was found out about them."""
        types = self._substitution.final(node.type for node in self._checked)
        for node, found in zip(self._checked, types, strict=True):
            node.type = found

    def visit(self, node: Node) -> Type:
        """Determine the type of a node, and store it in the node."""
        node.type = result = self.method(node)(node)
        self._checked.append(node)
        return result

    def literal(self, node: Literal) -> Type:
        return _LITERAL_TYPES[type(node.value)]

    def _report(self, position: int, message: str) -> Type:
        self.problems.append(Problem(position, message))
        return ERROR

    def _undeclared(self, position: int, name: str) -> Type:
        return self._report(position, f"undeclared reference to '{name}' (in container '')")

    def _resolve(self, t: Type) -> Type:
        return self._substitution.apply(t)

    def ident(self, node: Ident) -> Type:
        name = node.name.removeprefix(".")
        for scope in () if node.name.startswith(".") else reversed(self._scopes):
            if name in scope:
                return scope[name]
        if (found := self._environment.named(name)) is None:
            return self._undeclared(node.position, node.name)
        node.name = name
        return found

    def message(self, node: Message) -> Type:
        if not node.name:
            return self._report(node.position, "Syntax error: mismatched input '{' expecting <EOF>")
        found = self._environment.named(node.name)
        if found is None:
            return self._undeclared(node.position, node.name)
        if found.kind != "type":
            self._report(node.position, f"'{found.name}' is not a type")
            struct = ERROR
        elif (struct := found.parameters[0]).kind != "struct":
            self._report(node.position, f"'{struct.name}' is not a message type")
            struct = ERROR
        for entry in node.entries:
            self._initialized(struct, entry)
        return struct

    def _initialized(self, struct: Type, entry: Entry) -> None:
        """Check the value of a field in a message."""
        value = self.visit(entry.value)
        if entry.optional:
            value = self._unwrapped(entry.value, value)
        position, name = entry.key.position, name_of(entry)
        wanted = ERROR if struct is ERROR else self._environment.structs.field(struct.name, name)
        if wanted is None:
            self._report(position, f"undefined field '{name}'")
        elif not self._substitution.assignable([wanted], [value]):
            message = f"expected type of field '{name}' is '{wanted}' but provided type is '{self._resolve(value)}'"
            self._report(position, message)

    def select(self, node: Select) -> Type:
        qualified = dotted_name(node).removeprefix(".")
        if qualified and (found := self._environment.named(qualified)) is not None:
            node.qualified = qualified
            return found
        operand = self._resolve(self.visit(node.operand))
        optional = types.is_optional(operand)
        target = operand.parameters[0] if optional else operand
        result = self._field(node, target)
        if node.presence:
            return BOOL
        result = types.optional_of(result) if optional or node.optional else result
        return self._resolve(result)

    def _field(self, node: Select, target: Type) -> Type:
        if target.kind == "map":
            return target.parameters[1]
        if target.kind == "struct":
            structs = self._environment.structs
            if not structs.knows(target.name):
                return self._report(node.position, f"unexpected failed resolution of '{target.name}'")
            found = structs.field(target.name, node.name)
            return self._report(node.position, f"undefined field '{node.name}'") if found is None else found
        if target.kind == "parameter":
            self._substitution.assignable([DYN], [target])
        elif not target.is_dynamic and target.kind != "error":
            self._report(node.position, f"type '{target}' does not support field selection")
        return DYN

    def call(self, node: Call) -> Type:
        if node.function == "_[?_]":
            return self._optional_index(node)
        for argument in node.arguments:
            self.visit(argument)
        function = node.function
        if node.target is None:
            function = function.removeprefix(".")
        else:
            qualified = dotted_name(node.target).removeprefix(".")
            if qualified and f"{qualified}.{function}" in self._functions:
                node.function = function = f"{qualified}.{function}"
                node.target = None
            else:
                self.visit(node.target)
        overloads = self._functions.get(function)
        if overloads is None:
            return self._undeclared(node.position, node.function)
        node.function = function
        if function in ("_&&_", "_||_"):
            result = BOOL
            for argument in node.arguments:
                if not self._substitution.assignable([argument.type], [BOOL]):
                    result = self._report(argument.position, f"expected type 'bool' but found '{argument.type}'")
            return result
        return self._overload(node, overloads)

    def _optional_index(self, node: Call) -> Type:
        for argument in node.arguments:
            self.visit(argument)
        return self._overload(node, self._functions[node.function])

    def _overload(self, node: Call, overloads: tuple[Overload, ...]) -> Type:
        operands = node.operands
        arguments = [operand.type for operand in operands]
        result: Type | None = None
        for candidate in overloads:
            if candidate.member != (node.target is not None) or len(candidate.parameters) != len(arguments):
                continue
            *parameters, returned = self._substitution.instantiate([*candidate.parameters, candidate.result])
            if not self._substitution.assignable(arguments, parameters):
                continue
            node.overloads.append(candidate)
            returned = self._resolve(returned)
            if result is None:
                result = returned
            elif not result.is_dynamic and result != returned:
                result = DYN
        if result is not None:
            return result
        found = [str(self._substitution.apply(argument, unknown_is_dyn=True)) for argument in arguments]
        signature = f"({', '.join(found)})" if node.target is None else f"{found[0]}.({', '.join(found[1:])})"
        message = f"found no matching overload for '{node.function}' applied to '{signature}'"
        return self._report(node.position, message)

    def list_literal(self, node: ListLiteral) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            found = self.visit(element)
            if index in node.optional:
                found = self._unwrapped(element, found)
            joined = self._join(element, joined, found)
        return types.list_of(self._substitution.fresh() if joined is None else joined)

    def map_literal(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self._join(entry.key, key, self.visit(entry.key))
            found = self.visit(entry.value)
            if entry.optional:
                found = self._unwrapped(entry.value, found)
            value = self._join(entry.value, value, found)
        if key is None or value is None:
            return types.map_of(self._substitution.fresh(), self._substitution.fresh())
        return types.map_of(key, value)

    def _unwrapped(self, node: Node, found: Type) -> Type:
        """Return the type inside an entry written with ``?``; report the entry if it is not optional."""
        if types.is_optional(found):
            return found.parameters[0]
        if not found.is_dynamic:
            self._report(node.position, f"expected type '{types.optional_of(found)}' but found '{found}'")
        return found

    def _join(self, node: Node, joined: Type | None, found: Type) -> Type:
        if joined is None:
            return found
        if self._substitution.assignable([joined], [found]):
            return types.most_general(joined, found)
        return DYN

    def bind(self, node: Bind) -> Type:
        if node.written is not None and not self._environment.binds:
            return self.call(node.written)
        value = self.visit(node.value)
        self._scopes.append({node.name: value})
        body = self.visit(node.body)
        self._scopes.pop()
        return body

    def comprehension(self, node: Comprehension) -> Type:
        scope = self._variables(node, self._resolve(self.visit(node.range)))
        self._scopes.append(scope)
        body = [self.visit(part) for part in node.body]
        result = self._comprehended(node, body)
        self._scopes.pop()
        return self._resolve(result)

    def _variables(self, node: Comprehension, found: Type) -> dict[str, Type]:
        """Give the loop variables their types: element or key; if there are two, index and element or key and value."""
        two = len(node.variables) == 2
        if found.kind == "list":
            kinds = [INT, found.parameters[0]] if two else [found.parameters[0]]
        elif found.kind == "map":
            kinds = [*found.parameters] if two else [found.parameters[0]]
        elif found.kind in ("dyn", "error", "parameter"):
            self._substitution.assignable([DYN], [found])
            kinds = [DYN, DYN]
        else:
            message = f"expression of type '{found}' cannot be range of a comprehension (must be list, map, or dynamic)"
            self._report(node.range.position, message)
            kinds = [ERROR, ERROR]
        return dict(zip(node.variables, kinds, strict=False))

    def _comprehended(self, node: Comprehension, body: list[Any]) -> Type:
        match node.macro:
            case "all" | "exists":
                if not self._substitution.assignable([body[0]], [BOOL]):
                    found = self._resolve(body[0])
                    self._report(node.body[0].position, f"expected type 'bool' but found '{found}'")
                return BOOL
            case "exists_one":
                self._condition(node, body[0], INT)
                return BOOL
            case "filter":
                result = types.list_of(node_type) if (node_type := self._element(node)) else DYN
                self._condition(node, body[0], result)
                return result
            case "map" | "transformList":
                result = types.list_of(body[-1])
            case "transformMap":
                result = types.map_of(self._key(node), body[-1])
            case _:
                result = body[-1]
        if len(body) == 2:
            self._condition(node, body[0], result)
        return result

    def _element(self, node: Comprehension) -> Type | None:
        return self._scopes[-1].get(node.variables[0])

    def _key(self, node: Comprehension) -> Type:
        return self._scopes[-1][node.variables[0]]

    def _condition(self, node: Comprehension, condition: Type, branch: Type) -> None:
        """Check the condition of a macro, which cel-go expands to ``condition ? step : result`` and reports as such."""
        if not self._substitution.assignable([condition], [BOOL]):
            applied = [self._substitution.apply(t, unknown_is_dyn=True) for t in (condition, branch, branch)]
            shown = ", ".join(map(str, applied))
            self._report(node.position, f"found no matching overload for '_?_:_' applied to '({shown})'")
