"""From a checked syntax tree to nested Python functions, once per expression.

A compiled expression is a function of a frame (``frames``). Nothing else is read or written, so evaluation is
thread-safe. What is known at compile time is decided here: constants are folded, calls go straight to the one variant
that fits, and the ways in which nearly all selectors look at a device (a field, an attribute, a capacity, compared with
a constant) are single functions.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from drakit_api.cel.errors import CelProgramError, CelRuntimeError, CostExceeded, Panic
from drakit_api.cel.evaluation import comprehensions
from drakit_api.cel.evaluation import nodes as evaluation
from drakit_api.cel.evaluation.calls import call, call_with_constant, dispatcher
from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.frames import Layout
from drakit_api.cel.library import operators, regex
from drakit_api.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    name_of,
)
from drakit_api.cel.syntax.visitor import Visitor, constantly
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import Implementation
from drakit_api.cel.values.keys import members
from drakit_api.cel.values.values import TypeValue

UNKNOWN = object()
CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})


def compile_tree(tree: Node, layout: Layout) -> tuple[Closure, int]:
    """Compile a checked tree into a function and the number of local variables for which it needs places."""
    compiler = Compiler(layout)
    return compiler.visit(tree), compiler.locals


class Compiler(Visitor[Closure]):
    """Compiles one expression; an instance serves once."""

    def __init__(self, layout: Layout) -> None:
        self.locals = 0
        self._layout = layout
        self._slots: dict[str, int] = {}
        self._bound: set[int] = set()
        self._known: dict[Closure, Any] = {}

    def literal(self, node: Literal) -> Closure:
        """Compile a constant."""
        return self._constant(node.value)

    def message(self, node: Message) -> Closure:
        """Compile ``Name{field: value}``."""
        fields = [(name_of(entry), self.visit(entry.value), entry.optional) for entry in node.entries]
        return lambda frame: evaluation.build_struct(node.name, fields, frame)

    def _constant(self, value: Any) -> Closure:
        result = evaluation.constant(value)
        self._known[result] = value
        return result

    def ident(self, node: Ident) -> Closure:
        """Compile a variable, or a type's name."""
        if node.name not in self._slots:
            return self._global(node.name)
        slot = self._slots[node.name]
        return evaluation.bound_variable(slot) if slot in self._bound else lambda frame: frame[slot]

    def _global(self, name: str) -> Closure:
        """Compile the name of a variable of the environment, or of a type."""
        slot = self._layout.variables.get(name)
        if slot is None:
            return self._constant(TypeValue(name))
        return evaluation.bound_variable(slot) if name in self._layout.fallible else lambda frame: frame[slot]

    def _field_slot(self, node: Node) -> int | None:
        """Return the frame slot of ``device.<field>``; None if the node is anything else."""
        if not isinstance(node, Select) or node.optional or node.presence or not isinstance(node.operand, Ident):
            return None
        variable = node.operand.name
        return None if variable in self._slots else self._layout.fields.get((variable, node.name))

    def select(self, node: Select) -> Closure:
        """Compile ``a.b``, ``a.?b`` or ``has(a.b)``."""
        if node.qualified:
            return self._global(node.qualified)
        if (slot := self._field_slot(node)) is not None:
            return lambda frame: frame[slot]
        name = node.name
        if not node.optional and not node.presence and (entry := self._entry(node.operand)) is not None:
            return evaluation.attribute(*entry, name)
        if node.optional and (found := self._optional_entry(node)) is not None:
            return evaluation.optional_attribute(*found)
        operand = self.visit(node.operand)
        if node.presence:
            return lambda frame: evaluation.present(operand(frame), name)
        if node.optional:
            return lambda frame: operators.find(operand(frame), name)
        return lambda frame: evaluation.select(operand(frame), name)

    def _entry(self, node: Node) -> tuple[int, str] | None:
        """Return field and domain of ``device.attributes["domain"]`` or ``device.capacity["domain"]``, or None."""
        if not isinstance(node, Call) or node.function != "_[_]":
            return None
        container, key = node.arguments
        slot = self._field_slot(container)
        if slot is None or not isinstance(key, Literal) or not isinstance(key.value, str):
            return None
        return slot, key.value

    def _optional_entry(self, node: Node | None) -> tuple[int, str, str] | None:
        """Return field, domain and name of ``device.attributes["domain"].?name``, or None."""
        if not isinstance(node, Select) or not node.optional:
            return None
        entry = self._entry(node.operand)
        return None if entry is None else (*entry, node.name)

    def call(self, node: Call) -> Closure:
        """Compile a call of a function, method or operator."""
        operands = self._operands(node)
        if node.function in ("find", "findAll") and is_constant(node.arguments[0]):
            self._check_pattern(operands[1])
        if node.function in ("_[_]", "_[?_]"):
            self._check_key(node.arguments[1], operands[1])
        if (special := self._special(node, operands)) is not None:
            return special
        implementation = dispatcher(node, self._layout.certain)
        known = [self._known.get(operand, UNKNOWN) for operand in operands]
        if all(value is not UNKNOWN for value in known):
            return self._folded(node, implementation, operands, known)
        if len(operands) == 2 and known[1] is not UNKNOWN:
            return call_with_constant(implementation, operands[0], known[1])
        return call(implementation, operands)

    def _operands(self, node: Call) -> list[Closure]:
        operands = [self.visit(operand) for operand in node.operands]
        if node.function in ("distinct", "sort") and len(node.overloads) == 1:
            return list(map(evaluation.measured, operands))
        return operands

    def _special(self, node: Call, operands: list[Closure]) -> Closure | None:
        """Compile what is not called with the values of all its operands, or has a shorter way."""
        match node.function:
            case "orValue" if (found := self._optional_entry(node.target)) is not None:
                return evaluation.attribute_or(*found, operands[1])
            case "or" | "orValue":
                return evaluation.alternative(node.function, *operands)
            case "_&&_":
                return evaluation.both(*operands) if len(operands) == 2 else comprehensions.conjunction(operands)
            case "_||_":
                return evaluation.either(*operands) if len(operands) == 2 else comprehensions.disjunction(operands)
            case "_?_:_":
                return evaluation.conditional(*operands)
            case "_==_" | "_!=_" | "@in":
                special = self._membership if node.function == "@in" else self._against_constant
                return special(node, operands)
        return None

    def _check_pattern(self, pattern: Closure) -> None:
        if isinstance(known := self._known.get(pattern), str):
            try:
                regex.compile_pattern(known)
            except CelRuntimeError as error:
                raise CelProgramError(error) from None

    def _check_key(self, node: Node, key: Closure) -> None:
        if is_constant(node) or (isinstance(node, Ident | Select) and key in self._known):
            try:
                operators.check_key(self._known[key])
            except CelRuntimeError as error:
                raise CelProgramError(error) from None

    def _folded(self, node: Call, implementation: Implementation, operands: list[Closure], known: list[Any]) -> Closure:
        """Evaluate a call with constants now, unless its result is large: then it is left for the evaluation.

        An error is fatal only where upstream's optimizer evaluates the call, too; what that folds is as long as it is
        written.
        """
        is_upstreams = is_constant(node)
        try:
            with nullcontext() if is_upstreams else budget.folding():
                return self._constant(implementation(*known))
        except CostExceeded:
            return call(implementation, operands)
        except CelRuntimeError as error:
            if is_upstreams:
                raise CelProgramError(error) from None
            return evaluation.failing(error)
        except Panic as panic:
            return evaluation.failing(panic)

    def _against_constant(self, node: Call, operands: list[Closure]) -> Closure | None:
        left, right = operands
        value = self._known.get(right, UNKNOWN)
        if type(value) not in (str, int, bool) or left in self._known:
            return None
        return evaluation.equals(left, value) if node.function == "_==_" else evaluation.differs(left, value)

    def _membership(self, node: Call, operands: list[Closure]) -> Closure | None:
        """Compile ``x in [constants]``, for which upstream does not look at ``x`` if there are none."""
        if not isinstance(node.arguments[1], ListLiteral) or not is_constant(node.arguments[1]):
            return None
        keys = members(self._known[operands[1]])
        if keys is None:
            return None
        return evaluation.among(operands[0], keys) if keys else self._constant(False)

    def list_literal(self, node: ListLiteral) -> Closure:
        """Compile ``[a, ?b]``."""
        elements = [self.visit(element) for element in node.elements]
        if node.optional:
            return evaluation.list_with_optionals(elements, node.optional)
        known = [self._known.get(element, UNKNOWN) for element in elements]
        if all(value is not UNKNOWN for value in known):
            return self._constant(known)
        return evaluation.build_list(elements)

    def map_literal(self, node: MapLiteral) -> Closure:
        """Compile ``{key: value}``."""
        entries = [(self.visit(e.key), self.visit(e.value), e.optional) for e in node.entries]
        if all(key in self._known and value in self._known and not optional for key, value, optional in entries):
            try:
                return self._constant(evaluation.build_map(entries, []))
            except CelRuntimeError as error:
                return evaluation.failing(error)
            except Panic as panic:
                if is_constant(node):  # upstream dies of it: it does not expect that when it compiles
                    raise CelProgramError(panic) from None
                return evaluation.failing(panic)
        return lambda frame: evaluation.build_map(entries, frame)

    def _declare(self, names: list[str]) -> tuple[list[int], dict[str, int]]:
        """Reserve frame slots for local variables; return them, and the scope to go back to."""
        outer = dict(self._slots)
        slots = [self._layout.first_local + self.locals + offset for offset in range(len(names))]
        self.locals += len(names)
        self._slots.update(zip(names, slots, strict=True))
        return slots, outer

    def bind(self, node: Bind) -> Closure:
        """Compile ``cel.bind(name, value, body)``."""
        value = self.visit(node.value)
        (slot,), outer = self._declare([node.name])
        self._bound.add(slot)
        body = self.visit(node.body)
        self._slots = outer
        return evaluation.bound(slot, value, body)

    def comprehension(self, node: Comprehension) -> Closure:
        """Compile a macro that walks over a list or map."""
        source = self.visit(node.range)
        slots, outer = self._declare(node.variables)
        body = [self.visit(part) for part in node.body]
        self._slots = outer
        return self._build(node.macro, source, slots, body)

    def _build(self, macro: str, source: Closure, slots: list[int], body: list[Closure]) -> Closure:
        return comprehensions.build(macro, source, slots, body)


class _IsConstant(Visitor[bool]):
    """Tells whether upstream takes it for a constant (``interpreter/decorators.go`` ``decOptimize``). We fold more."""

    def call(self, node: Call) -> bool:
        return node.function in CONVERSIONS and node.target is None and all(map(self.visit, node.arguments))

    def list_literal(self, node: ListLiteral) -> bool:
        return not node.optional and all(map(self.visit, node.elements))

    def map_literal(self, node: MapLiteral) -> bool:
        return all(self.visit(e.key) and self.visit(e.value) and not e.optional for e in node.entries)

    literal = constantly(True)
    ident = select = message = comprehension = bind = constantly(False)


is_constant = _IsConstant().visit
