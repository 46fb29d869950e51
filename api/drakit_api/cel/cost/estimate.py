"""The greatest cost that an expression could have: what the API server compares with its limit.

Follows cel-go v0.29 ``checker/cost.go``. Macros count as the comprehensions that cel-go expands them to
(``parser/macro.go``, ``ext/comprehensions.go``); the numbers of each expansion are next to its name here.
"""

from __future__ import annotations

from dataclasses import dataclass

from drakit_api import limits
from drakit_api.cel.cost.call_estimates import Estimate, Sizes, estimate
from drakit_api.cel.cost.ranges import (
    LIST_BASE,
    MAP_BASE,
    MAX,
    NOTHING,
    ONE,
    STRUCT_BASE,
    UNKNOWN,
    Path,
    Range,
    fixed,
)
from drakit_api.cel.cost.ranges import Sizes as KnownSizes
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
)
from drakit_api.cel.syntax.visitor import Visitor
from drakit_api.cel.values.types import STRING, Type, is_optional

LIMIT = limits.CEL_EXPRESSION_COST


def greatest_cost(tree: Node, known_sizes: KnownSizes) -> int:
    """Compute the greatest cost of a checked expression, in CEL's cost units."""
    return Coster(known_sizes).visit(tree).greatest


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of what a list (``value``) or a map holds."""

    kind: str
    key: Range
    value: Range

    def or_else(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key.or_else(other.key), self.value.or_else(other.value))


@dataclass(frozen=True, slots=True)
class _Variable:
    path: Path
    size: Range | None = None
    entries: _Entries | None = None


class Coster(Visitor[Range]):
    """Estimates the cost of a node with those below it; an instance serves for one expression."""

    def __init__(self, known_sizes: KnownSizes) -> None:
        self._known_sizes = known_sizes
        self._variables: dict[str, _Variable] = {}
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}

    def literal(self, node: Literal) -> Range:
        """Estimate a constant."""
        self._sizes[id(node)] = fixed(len(node.value) if isinstance(node.value, str | bytes) else 1)
        return NOTHING

    def ident(self, node: Ident) -> Range:
        """Estimate a variable, or a type's name."""
        variable = self._variables.get(node.name)
        self._paths[id(node)] = variable.path if variable else (node.name,)
        return ONE

    def message(self, node: Message) -> Range:
        """Estimate ``Name{field: value}``."""
        cost = fixed(STRUCT_BASE)
        for entry in node.entries:
            cost = cost.plus(self.visit(entry.value))
        return cost

    def select(self, node: Select) -> Range:
        """Estimate ``a.b``, ``a.?b`` or ``has(a.b)``."""
        if node.qualified:
            self._paths[id(node)] = (node.qualified,)
            return ONE
        cost = self.visit(node.operand)
        if node.presence:
            return cost
        if node.optional:
            return cost.plus(ONE)
        if node.operand.type.kind in ("map", "struct", "parameter"):
            cost = cost.plus(ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.name)
        return cost

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (variable := self._variables.get(node.name)) is not None:
            return variable.path
        return self._paths.get(id(node), ())

    def size(self, node: Node) -> Range | None:
        """Return the size range of a node's value; None if nothing is known about it."""
        known = self._sizes.get(id(node))
        if known is None:
            known = self._known_sizes(self._path(node))
        if known is None and _is_scalar(node.type):
            known = ONE
        if known is None and isinstance(node, Ident) and node.name in self._variables:
            known = self._variables[node.name].size
        return known

    def _size_or_unknown(self, node: Node) -> Range:
        found = self.size(node)
        return UNKNOWN if found is None else found

    def _entries_of(self, node: Node) -> _Entries | None:
        found = self._entries.get(id(node))
        if found is None and isinstance(node, Ident) and node.name in self._variables:
            return self._variables[node.name].entries
        return found

    def call(self, node: Call) -> Range:
        """Estimate a call of a function, method or operator."""
        costs = [self.visit(operand) for operand in node.operands]
        if node.function == "dyn":
            self._copy(node, node.arguments[0])
            return ONE.plus(costs[0])
        if node.function in ("_&&_", "_||_"):
            return self._logic(costs)
        if node.function == "_?_:_":
            return self._conditional(node, costs)
        total = NOTHING
        for cost in costs:
            total = total.plus(cost)
        called, size = self._variants(node)
        if size is not None:
            self._sizes[id(node)] = size
        return total.plus(called)

    def _variants(self, node: Call) -> tuple[Range, Range | None]:
        """Estimate cost and size over all overloads of a function that the call may run."""
        least, greatest, size = MAX, 0, None
        for overload in node.overloads:
            operands = [self._size_or_unknown(operand) for operand in node.operands]
            found = estimate(Sizes(overload, node.operands, operands, self._element(node)))
            least, greatest = min(least, found.cost.least), max(greatest, found.cost.greatest)
            if found.size is not None:
                size = found.size if size is None else size.or_else(found.size)
            size = self._special_size(node, overload.parameters, found, size)
        return Range(least, greatest), size

    def _special_size(
        self, node: Call, parameters: tuple[Type, ...], found: Estimate, size: Range | None
    ) -> Range | None:
        if node.function == "_[_]" and parameters[0].kind in ("list", "map"):
            step = "@items" if parameters[0].kind == "list" else "@values"
            entries = self._entries_of(node.arguments[0])
            size = entries.value if entries else None
            self._paths[id(node)] = (*self._path(node.arguments[0]), step)
        elif node.function == "_+_" and found.size is not None:
            left, right = map(self._entries_of, node.arguments)
            joined = left.or_else(right) if left else None
            if joined is not None:
                self._entries[id(node)] = joined
        return self.size(node) if size is None else size

    def _element(self, node: Call) -> tuple[Type, Range] | None:
        """Return type and size of the elements of a method's target."""
        if node.target is None or not node.target.type.parameters:
            return None
        path = self._path(node.target)
        found = self._known_sizes((*path, "@items")) if path else None
        return node.target.type.parameters[0], UNKNOWN if found is None else found

    def _logic(self, costs: list[Range]) -> Range:
        """Add the costs of a chain, which cel-go balances: only the greatest cost matters to us, which is the sum."""
        total = costs[0]
        for cost in costs[1:]:
            total = Range(total.least, total.plus(cost).greatest)
        return total

    def _conditional(self, node: Call, costs: list[Range]) -> Range:
        yes, no = node.arguments[1:]
        self._sizes[id(node)] = self._size_or_unknown(yes).or_else(self._size_or_unknown(no))
        first = self._entries_of(yes)
        joined = first.or_else(self._entries_of(no)) if first else None
        if joined is not None:
            self._entries[id(node)] = joined
        return costs[0].plus(costs[1].or_else(costs[2]))

    def _copy(self, target: Node, source: Node) -> None:
        if (size := self.size(source)) is not None:
            self._sizes[id(target)] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[id(target)] = entries

    def list_literal(self, node: ListLiteral) -> Range:
        """Estimate ``[a, ?b]``."""
        cost, element = fixed(LIST_BASE), Range(MAX, 0) if node.elements else NOTHING
        for child in node.elements:
            cost = cost.plus(self.visit(child))
            element = element.or_else(self._size_or_unknown(child))
        self._sizes[id(node)], self._entries[id(node)] = fixed(len(node.elements)), _Entries("list", ONE, element)
        return cost

    def map_literal(self, node: MapLiteral) -> Range:
        """Estimate ``{key: value}``."""
        cost = fixed(MAP_BASE)
        key = value = Range(MAX, 0) if node.entries else NOTHING
        for entry in node.entries:
            cost = cost.plus(self.visit(entry.key)).plus(self.visit(entry.value))
            key = key.or_else(self._size_or_unknown(entry.key))
            value = value.or_else(self._size_or_unknown(entry.value))
        self._sizes[id(node)], self._entries[id(node)] = fixed(len(node.entries)), _Entries("map", key, value)
        return cost

    def bind(self, node: Bind) -> Range:
        """Estimate ``cel.bind(name, value, body)``."""
        cost = self.visit(node.value).plus(fixed(LIST_BASE))  # expands to a walk over an empty list
        variable = _Variable(self._path(node.value), self.size(node.value), self._entries_of(node.value))
        shadowed = self._declare({node.name: variable})
        cost = cost.plus(self.visit(node.body))
        self._copy(node, node.body)
        self._restore(shadowed)
        return cost

    def _declare(self, variables: dict[str, _Variable]) -> dict[str, _Variable]:
        before = self._variables
        self._variables = {**before, **variables}
        return before

    def _restore(self, variables: dict[str, _Variable]) -> None:
        self._variables = variables

    def _iteration(self, node: Comprehension) -> dict[str, _Variable]:
        """Describe the loop variables of a macro, by name."""
        entries, path = self._entries_of(node.range), self._path(node.range)
        kind = entries.kind if entries else node.range.type.kind
        key = _Variable((*path, "@indices" if kind == "list" else "@keys"), entries.key if entries else None)
        value = _Variable((*path, "@items" if kind == "list" else "@values"), entries.value if entries else None)
        names = node.variables
        if len(names) == 2:
            return {names[0]: key, names[1]: value}
        if kind == "list":
            return {names[0]: value}
        return {names[0]: _Variable((*path, "@keys"), key.size)}

    def comprehension(self, node: Comprehension) -> Range:
        """Estimate a macro that walks over a list or map."""
        source = self.visit(node.range)
        outside = self._declare(self._iteration(node))
        bodies = [self.visit(part) for part in node.body]
        start, each, result = self._expanded(node, bodies)
        self._restore(outside)
        count = self._size_or_unknown(node.range)
        if node.macro in ("all", "exists", "exists_one"):
            self._sizes[id(node)] = ONE
        else:
            self._sizes[id(node)] = count
        return source.plus(start).plus(result).plus(count.times(each))

    def _expanded(self, node: Comprehension, bodies: list[Range]) -> tuple[Range, Range, Range]:
        """Return the costs of the accumulator's start, of one step, and of the result."""
        body = bodies[-1]
        match node.macro:
            case "all":  # @not_strictly_false(result); result && body
                return NOTHING, Range(3, body.plus(fixed(3)).greatest), ONE
            case "exists":  # @not_strictly_false(!result); result || body
                return NOTHING, Range(4, body.plus(fixed(4)).greatest), ONE
            case "exists_one":  # body ? result + 1 : result; result == 1
                return NOTHING, body.plus(Range(1, 2)), fixed(2)
            case "filter":  # body ? result + [x] : result
                self._set_entries(node, self._size_of_variable(node))
                return fixed(LIST_BASE), body.plus(Range(1, LIST_BASE + 3)), ONE
            case "map" | "transformList":  # result + [body]
                self._set_entries(node, self._size_or_unknown(node.body[-1]))
                start, step = fixed(LIST_BASE), body.plus(fixed(LIST_BASE + 2))
            case "transformMap":  # cel.@mapInsert(result, key, body)
                start, step = fixed(MAP_BASE), body.plus(fixed(3))
            case _:  # cel.@mapInsert(result, body)
                start, step = fixed(MAP_BASE), body.plus(fixed(2))
        if len(bodies) == 2:
            step = bodies[0].plus(step.or_else(ONE))
        return start, step, ONE

    def _size_of_variable(self, node: Comprehension) -> Range:
        element = Ident(node.position, node.variables[0])
        element.type = STRING if node.range.type.kind != "list" else node.range.type.parameters[0]
        return self._size_or_unknown(element)

    def _set_entries(self, node: Comprehension, element: Range) -> None:
        self._entries[id(node)] = _Entries("list", ONE, NOTHING.or_else(element))


def _is_scalar(t: Type) -> bool:
    if is_optional(t):
        return _is_scalar(t.parameters[0])
    return t.kind in ("bool", "double", "duration", "int", "timestamp", "uint")
