"""The compiler for expressions that may cost more than the limit: the same functions, counting as they run."""

from __future__ import annotations

from drakit_api.cel.cost import metering
from drakit_api.cel.cost.call_prices import PRICED_BY_OVERLOAD
from drakit_api.cel.cost.ranges import LIST_BASE, MAP_BASE, STRUCT_BASE
from drakit_api.cel.evaluation import comprehensions
from drakit_api.cel.evaluation import nodes as evaluation
from drakit_api.cel.evaluation.calls import dispatcher
from drakit_api.cel.evaluation.closures import UNKNOWN, Compiler, is_constant
from drakit_api.cel.evaluation.comprehensions import Closure
from drakit_api.cel.frames import Layout
from drakit_api.cel.library import operators
from drakit_api.cel.syntax.tree import Call, Ident, ListLiteral, MapLiteral, Message, Node, Select
from drakit_api.cel.syntax.visitor import Visitor, constantly


def compile_metered(tree: Node, layout: Layout) -> tuple[Closure, int]:
    """Compile as ``closures.compile_tree`` does; the function counts its cost in the frame and stops at the limit.

    It says that it needs a place even if it does not, so that each evaluation has a frame, and a cost, of its own.
    """
    compiler = _MeteredCompiler(layout)
    compiled = compiler.visit(tree)
    return compiled, max(1, compiler.locals)


class _MeteredCompiler(Compiler):
    """The same without shortcuts, so that all that upstream counts takes place."""

    def ident(self, node: Ident) -> Closure:
        compiled = super().ident(node)
        return compiled if compiled in self._known else metering.priced(compiled, 1)

    def select(self, node: Select) -> Closure:
        if node.qualified:
            compiled = self._global(node.qualified)
            return compiled if compiled in self._known else metering.priced(compiled, 1)
        operand, name = self._path(node.operand), node.name
        if node.presence:
            return lambda frame: evaluation.present(operand(frame), name)
        if node.optional:
            return metering.priced_if_found(lambda frame: operators.find(operand(frame), name))
        return metering.priced(lambda frame: evaluation.select(operand(frame), name), 1)

    def _optional_entry(self, node: Node | None) -> None:
        return None

    def _path(self, node: Node) -> Closure:
        """Compile the operand of a selection; the first selection from anything but a variable costs one more."""
        compiled = self.visit(node)
        return compiled if _is_path(node) else metering.priced(compiled, 1)

    def _unpriced(self, node: Node) -> Closure:
        """Compile a path that is inside another path, or a branch: its first selection is free, if it has one."""
        compiled = self.visit(node)
        return metering.priced(compiled, -1) if _is_path(node) and not _is_conditional(node) else compiled

    def call(self, node: Call) -> Closure:
        function = node.function
        if _is_conditional(node):
            return evaluation.conditional(self.visit(node.arguments[0]), *map(self._unpriced, node.arguments[1:]))
        if function in ("or", "orValue"):
            return super().call(node)
        if function in ("_&&_", "_||_"):
            operands = [self.visit(operand) for operand in node.operands]
            return (comprehensions.conjunction if function == "_&&_" else comprehensions.disjunction)(operands)
        if function in ("_[_]", "_[?_]"):
            container, key = self._path(node.arguments[0]), self._unpriced(node.arguments[1])
            self._check_key(node.arguments[1], key)
            step = operators.index if function == "_[_]" else operators.find
            compiled: Closure = lambda frame: step(container(frame), key(frame))  # noqa: E731
            return metering.priced(compiled, 1) if function == "_[_]" else metering.priced_if_found(compiled)
        operands = self._operands(node)
        known = [self._known.get(operand, UNKNOWN) for operand in operands]
        implementation = dispatcher(node, self._layout.certain)
        if function == "@in" and (membership := self._membership(node, operands)) is not None:
            return membership  # which is free
        if is_constant(node):
            return self._folded(node, implementation, operands, known)
        is_ambiguous = len(node.overloads) > 1 and function in PRICED_BY_OVERLOAD
        return metering.call("" if is_ambiguous else function, implementation, operands)

    def list_literal(self, node: ListLiteral) -> Closure:
        compiled = super().list_literal(node)
        return compiled if compiled in self._known else metering.priced(compiled, LIST_BASE)

    def map_literal(self, node: MapLiteral) -> Closure:
        compiled = super().map_literal(node)
        return compiled if compiled in self._known else metering.priced(compiled, MAP_BASE)

    def message(self, node: Message) -> Closure:
        return metering.priced(super().message(node), STRUCT_BASE)

    def _build(self, macro: str, source: Closure, slots: list[int], body: list[Closure]) -> Closure:
        if macro in ("all", "exists"):
            remaining = self._layout.first_local + self.locals
            self.locals += 1
            source, body = metering.counted(source, remaining), [metering.quantified(macro, body[0], remaining)]
        else:
            body = metering.body(macro, body, is_constant=body[-1] in self._known)
        return metering.priced(super()._build(macro, source, slots, body), metering.result_price(macro))


class _IsPath(Visitor[bool]):
    """Tells whether upstream evaluates a node as steps from a variable, or from what a conditional chooses."""

    def call(self, node: Call) -> bool:
        return node.function in ("_[_]", "_[?_]", "_?_:_")

    ident = select = constantly(True)
    literal = list_literal = map_literal = message = comprehension = bind = constantly(False)


_is_path = _IsPath().visit


def _is_conditional(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "_?_:_"
