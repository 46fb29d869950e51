"""One rule, compiled: its type, its greatest cost, and the expression that makes its message.

Source: ``k8s.io/apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/compilation.go``.
"""

from __future__ import annotations

import functools
import time
from typing import Final

from drakit_api.cel import compiler
from drakit_api.cel.checking.environment import TYPE_NAMES, Environment, Tables, library
from drakit_api.cel.cost.ranges import Path, Range
from drakit_api.cel.declared import Declared, DeclaredStructs, size
from drakit_api.cel.errors import CelCompileError
from drakit_api.cel.frames import Layout
from drakit_api.cel.program import Program
from drakit_api.cel.syntax.tree import Ident, Node
from drakit_api.cel.syntax.visitor import walk
from drakit_api.cel.values import types
from drakit_api.cel.values.types import Type

_SELF, _OLD = "self", "oldSelf"
_WRONG_TYPE = {"bool": "cel expression must evaluate to a bool", "string": "must evaluate to a string"}
LAYOUT: Final = Layout({_SELF: 1, _OLD: 2}, fallible=frozenset({_SELF, _OLD}))


class RuleCompiler:
    """Compiles the rules of one level of a schema, in which ``self`` is of one type.

    ``stored`` is for expressions in a stored definition, which may use every function.
    """

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._structs = DeclaredStructs(Tables({}))
        # The name changes each time, so that nobody relies on it.
        self._self = self._structs.declare(f"selfType{time.time_ns() % 10**9}", declared)

    def _environment(self, *, optional: bool, stored: bool) -> Environment:
        old = types.optional_of(self._self) if optional else self._self
        names = {_SELF: self._self, _OLD: old, **TYPE_NAMES}
        return Environment(library(includes=stored), names, self._structs, LAYOUT)

    def checked(self, expression: str, wanted: Type, *, optional: bool, stored: bool) -> Node:
        """Check an expression, in which ``oldSelf`` may be ``optional``. Raises ``CelCompileError``."""
        checked = compiler.checked(expression, self._environment(optional=optional, stored=stored))
        if checked.result != wanted:
            raise CelCompileError(_WRONG_TYPE[wanted.kind])
        return checked.tree

    def greatest_cost(self, tree: Node) -> int:
        """Estimate the greatest cost of an expression. Raises ``CelProgramError`` if it cannot be planned."""
        return compiler.planned_cost(tree, LAYOUT, functools.partial(size, self._declared))

    def program(self, expression: str, wanted: Type, *, optional: bool) -> Program:
        """Compile an expression of a stored definition."""
        tree = self.checked(expression, wanted, optional=optional, stored=True)
        environment = self._environment(optional=optional, stored=True)
        return Program(expression, tree, environment, self._certain_size)

    def _certain_size(self, path: Path) -> Range | None:
        """Return what is known for sure about a size: upstream does not look at the variable, nor count fields."""
        if not path or path[0] not in (_SELF, _OLD):
            return None
        found = size(self._declared, path)
        return found if found is not None and found.greatest else None


def uses_old_self(tree: Node) -> bool:
    """Tell whether an expression compares with the old value: then it is a transition rule."""
    return any(isinstance(node, Ident) and node.name == _OLD for node in walk(tree))
