"""From a checked syntax tree to nested Python functions, once per selector.

A compiled expression is a function of a frame: a list with the fields of the device and, behind them, one place for
each local variable. Nothing else is read or written, so evaluation is thread-safe. What is known at compile time is
decided here: constants are folded, calls go straight to the one variant that fits, and the ways in which nearly all
selectors look at a device (a field, an attribute, a capacity, compared with a constant) are single functions.
"""

from __future__ import annotations

from typing import Any

from . import comprehensions, device, metering
from .calls import call, dispatcher
from .comprehensions import Closure
from .declarations import Implementation
from .errors import CelCompileError, CelRuntimeError
from .library import operators, regex
from .sizes import LIST_BASE, MAP_BASE
from .syntax import Bind, Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select
from .types import DEVICE
from .values import MAPS, NONE, Optional, TypeValue, equal, map_key, no_such_overload, type_name

_SLOTS = {name: index for index, name in enumerate(device.FIELDS)}
_UNKNOWN = object()
_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})


def compile_tree(tree: Node, *, metered: bool = False) -> tuple[Closure, int]:
    """The function for a checked tree and how many places its frame needs behind those of the device.

    A metered function counts its cost in the frame and stops at the limit.
    """
    compiler = _MeteredCompiler() if metered else _Compiler()
    compiled = compiler.compile(tree)
    return compiled, 1 + compiler.locals if metered or compiler.locals else 0


def constant(value: Any) -> Closure:
    """A function that ignores its frame."""
    return lambda _: value


class _Compiler:
    def __init__(self) -> None:
        self.locals = 0
        self._slots: dict[str, int] = {}
        self._bound: set[int] = set()
        self._known: dict[Closure, Any] = {}

    def compile(self, node: Node) -> Closure:
        match node:
            case Literal():
                return self._constant(node.value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case Comprehension():
                return self._comprehension(node)
            case Bind():
                return self._bind(node)
        raise AssertionError(node)

    def _constant(self, value: Any) -> Closure:
        result = constant(value)
        self._known[result] = value
        return result

    def _ident(self, node: Ident) -> Closure:
        if node.name in self._slots:
            slot = self._slots[node.name]
        elif node.name == "device":
            slot = device.WHOLE
        else:
            return self._constant(TypeValue(node.name))
        return _bound_variable(slot) if slot in self._bound else lambda frame: frame[slot]

    def _field_slot(self, node: Node) -> int | None:
        """The place of ``device.<field>`` in a frame, if that is what the node is."""
        if not isinstance(node, Select) or node.optional or node.presence or not isinstance(node.operand, Ident):
            return None
        if node.operand.name != "device" or "device" in self._slots or node.operand.type != DEVICE:
            return None
        return _SLOTS[node.name]

    def _select(self, node: Select) -> Closure:
        if node.type_name:
            return self._constant(TypeValue(node.type_name))
        if (slot := self._field_slot(node)) is not None:
            return lambda frame: frame[slot]
        name = node.name
        if not node.optional and not node.presence and (entry := self._entry(node.operand)) is not None:
            return _attribute(*entry, name)
        operand = self.compile(node.operand)
        if node.presence:
            return lambda frame: present(operand(frame), name)
        if node.optional:
            return lambda frame: operators.find(operand(frame), name)
        return lambda frame: select(operand(frame), name)

    def _entry(self, node: Node) -> tuple[int, str] | None:
        """``device.attributes["domain"]`` or ``device.capacity["domain"]`` as field and domain."""
        if not isinstance(node, Call) or node.function != "_[_]":
            return None
        container, key = node.arguments
        slot = self._field_slot(container)
        if slot is None or not isinstance(key, Literal) or not isinstance(key.value, str):
            return None
        return slot, key.value

    def _call(self, node: Call) -> Closure:
        operands = [self.compile(operand) for operand in node.operands]
        if node.function in ("find", "findAll"):
            self._check_pattern(operands[1])
        match node.function:
            case "or" | "orValue":
                return _alternative(node.function, *operands)
            case "_&&_":
                return _both(*operands) if len(operands) == 2 else comprehensions.conjunction(operands)
            case "_||_":
                return _either(*operands) if len(operands) == 2 else comprehensions.disjunction(operands)
            case "_?_:_":
                return _conditional(*operands)
            case "_==_" | "_!=_" | "@in":
                special = self._against_constant(node.function, operands)
                if special is not None:
                    return special
        implementation = dispatcher(node)
        known = [self._known.get(operand, _UNKNOWN) for operand in operands]
        if all(value is not _UNKNOWN for value in known):
            return self._folded(node, implementation, known)
        return call(implementation, operands)

    def _check_pattern(self, pattern: Closure) -> None:
        if isinstance(known := self._known.get(pattern), str):
            try:
                regex.compile_pattern(known)
            except CelRuntimeError as error:
                raise CelCompileError(f"program instantiation failed: {error}") from None

    def _folded(self, node: Call, implementation: Implementation, known: list[Any]) -> Closure:
        """The result of a call with constants. Conversions that fail are refused here, as upstream's optimizer does."""
        try:
            return self._constant(implementation(*known))
        except CelRuntimeError as error:
            if node.target is None and node.function in _CONVERSIONS:
                raise CelCompileError(f"program instantiation failed: {error}") from None
            return _failing(str(error))

    def _against_constant(self, function: str, operands: list[Closure]) -> Closure | None:
        left, right = operands
        value = self._known.get(right, _UNKNOWN)
        if function == "@in":
            return _among(left, value) if isinstance(value, list) and left not in self._known else None
        if type(value) not in (str, int, bool) or left in self._known:
            return None
        return _is(left, value) if function == "_==_" else _is_not(left, value)

    def _list(self, node: ListLiteral) -> Closure:
        elements = [self.compile(element) for element in node.elements]
        if node.optional:
            return _list_with_optionals(elements, node.optional)
        known = [self._known.get(element, _UNKNOWN) for element in elements]
        if all(value is not _UNKNOWN for value in known):
            return self._constant(known)
        return lambda frame: [element(frame) for element in elements]

    def _map(self, node: MapLiteral) -> Closure:
        entries = [(self.compile(e.key), self.compile(e.value), e.optional) for e in node.entries]
        if all(key in self._known and value in self._known and not optional for key, value, optional in entries):
            try:
                return self._constant(_build_map(entries, []))
            except CelRuntimeError as error:
                return _failing(str(error))
        return lambda frame: _build_map(entries, frame)

    def _declare(self, names: list[str]) -> tuple[list[int], dict[str, int]]:
        """Places for local variables, and the scope to return to."""
        outer = dict(self._slots)
        slots = [device.FIRST_LOCAL + self.locals + offset for offset in range(len(names))]
        self.locals += len(names)
        self._slots.update(zip(names, slots, strict=True))
        return slots, outer

    def _bind(self, node: Bind) -> Closure:
        value = self.compile(node.value)
        (slot,), outer = self._declare([node.name])
        self._bound.add(slot)
        body = self.compile(node.body)
        self._slots = outer
        return _bound(slot, value, body)

    def _comprehension(self, node: Comprehension) -> Closure:
        source = self.compile(node.range)
        slots, outer = self._declare([variable.name for variable in node.variables])
        body = [self.compile(part) for part in node.body]
        self._slots = outer
        return self._build(node.macro, source, slots, body)

    def _build(self, macro: str, source: Closure, slots: list[int], body: list[Closure]) -> Closure:
        return comprehensions.build(macro, source, slots, body)


class _MeteredCompiler(_Compiler):
    """The same without shortcuts, so that all that upstream counts takes place."""

    def _ident(self, node: Ident) -> Closure:
        compiled = super()._ident(node)
        return compiled if compiled in self._known else metering.priced(compiled, 1)

    def _select(self, node: Select) -> Closure:
        if node.type_name:
            return self._constant(TypeValue(node.type_name))
        operand, name = self._path(node.operand), node.name
        if node.presence:
            return lambda frame: present(operand(frame), name)
        if node.optional:
            return metering.priced_if_found(lambda frame: operators.find(operand(frame), name))
        return metering.priced(lambda frame: select(operand(frame), name), 1)

    def _path(self, node: Node) -> Closure:
        """The operand of a step; the first step from something other than a variable costs one more."""
        compiled = self.compile(node)
        return compiled if _is_path(node) else metering.priced(compiled, 1)

    def _unpriced(self, node: Node) -> Closure:
        """A path inside of another one: its first step is free."""
        compiled = self.compile(node)
        return metering.priced(compiled, -1) if _is_path(node) else compiled

    def _call(self, node: Call) -> Closure:
        function = node.function
        if function == "_?_:_" and _is_path(node):
            return _conditional(self.compile(node.arguments[0]), *map(self._unpriced, node.arguments[1:]))
        if function in ("_?_:_", "or", "orValue"):
            return super()._call(node)
        if function in ("_&&_", "_||_"):
            operands = [self.compile(operand) for operand in node.operands]
            return (comprehensions.conjunction if function == "_&&_" else comprehensions.disjunction)(operands)
        if function in ("_[_]", "_[?_]"):
            container, key = self._path(node.arguments[0]), self._unpriced(node.arguments[1])
            step = operators.index if function == "_[_]" else operators.find
            compiled: Closure = lambda frame: step(container(frame), key(frame))  # noqa: E731
            return metering.priced(compiled, 1) if function == "_[_]" else metering.priced_if_found(compiled)
        operands = [self.compile(operand) for operand in node.operands]
        known = [self._known.get(operand, _UNKNOWN) for operand in operands]
        implementation = dispatcher(node)
        if function == "@in" and isinstance(known[1], list):
            return call(implementation, operands)  # upstream makes it a lookup in a set, which is free
        if function in _CONVERSIONS and node.target is None and _UNKNOWN not in known:
            return self._folded(node, implementation, known)
        return metering.call(function, implementation, operands)

    def _list(self, node: ListLiteral) -> Closure:
        compiled = super()._list(node)
        return compiled if compiled in self._known else metering.priced(compiled, LIST_BASE)

    def _map(self, node: MapLiteral) -> Closure:
        compiled = super()._map(node)
        return compiled if compiled in self._known else metering.priced(compiled, MAP_BASE)

    def _build(self, macro: str, source: Closure, slots: list[int], body: list[Closure]) -> Closure:
        if macro in ("all", "exists"):
            remaining = device.FIRST_LOCAL + self.locals
            self.locals += 1
            source, body = metering.counted(source, remaining), [metering.quantified(macro, body[0], remaining)]
        else:
            body = metering.body(macro, body)
        return metering.priced(super()._build(macro, source, slots, body), metering.result_price(macro))


def _is_path(node: Node) -> bool:
    """Whether upstream evaluates the node as steps from a variable, a choice between such paths included."""
    match node:
        case Ident() | Select():
            return True
        case Call(function="_[_]" | "_[?_]"):
            return True
        case Call(function="_?_:_"):
            return all(isinstance(branch, Literal) or _is_path(branch) for branch in node.arguments[1:])
    return False


def select(container: Any, name: str) -> Any:
    """``container.name`` for anything."""
    kind = type(container)
    if kind in MAPS:
        try:
            return container[name]
        except KeyError:
            raise operators.no_such_key(name) from None
    if kind is Optional:
        return operators.find(container, name)
    return operators.index(container, name)


def present(container: Any, name: str) -> bool:
    """``has(container.name)``."""
    return operators.find(container, name) is not NONE


def _attribute(slot: int, domain: str, name: str) -> Closure:
    def attribute(frame: list[Any]) -> Any:
        try:
            return frame[slot][domain][name]
        except KeyError:
            raise CelRuntimeError(f"no such key: {name}") from None

    return attribute


def _failing(message: str) -> Closure:
    def failing(frame: list[Any]) -> Any:
        raise CelRuntimeError(message)

    return failing


def _is(operand: Closure, constant: Any) -> Closure:
    kind = type(constant)

    def compare(frame: list[Any]) -> Any:
        value = operand(frame)
        return value == constant if type(value) is kind else equal(value, constant)

    return compare


def _is_not(operand: Closure, constant: Any) -> Closure:
    kind = type(constant)

    def compare(frame: list[Any]) -> Any:
        value = operand(frame)
        return value != constant if type(value) is kind else not equal(value, constant)

    return compare


def _among(operand: Closure, constants: list[Any]) -> Closure:
    kinds = {type(value) for value in constants}
    if kinds not in ({str}, {int}):
        return lambda frame: operators.contains(operand(frame), constants)
    (kind,) = kinds
    members = frozenset(constants)

    def among(frame: list[Any]) -> Any:
        value = operand(frame)
        return value in members if type(value) is kind else operators.contains(value, constants)

    return among


def _both(left: Closure, right: Closure) -> Closure:
    fallback = comprehensions.conjunction([left, right])

    def both(frame: list[Any]) -> Any:
        try:
            first = left(frame)
        except CelRuntimeError:
            return fallback(frame)
        if first is False:
            return False
        second = right(frame) if first is True else None
        return second if type(second) is bool else fallback(frame)

    return both


def _either(left: Closure, right: Closure) -> Closure:
    fallback = comprehensions.disjunction([left, right])

    def either(frame: list[Any]) -> Any:
        try:
            first = left(frame)
        except CelRuntimeError:
            return fallback(frame)
        if first is True:
            return True
        second = right(frame) if first is False else None
        return second if type(second) is bool else fallback(frame)

    return either


def _alternative(function: str, optional: Closure, other: Closure) -> Closure:
    """``or`` and ``orValue`` evaluate their argument only if there is no value."""

    def alternative(frame: list[Any]) -> Any:
        first = optional(frame)
        if type(first) is not Optional:
            raise no_such_overload(function, first)
        if first is NONE:
            return other(frame)
        return first if function == "or" else first.value

    return alternative


def _conditional(condition: Closure, yes: Closure, no: Closure) -> Closure:
    def conditional(frame: list[Any]) -> Any:
        chosen = condition(frame)
        if type(chosen) is not bool:
            raise no_such_overload()
        return yes(frame) if chosen else no(frame)

    return conditional


def _bound(slot: int, value: Closure, body: Closure) -> Closure:
    def bound(frame: list[Any]) -> Any:
        try:
            frame[slot] = value(frame)
        except CelRuntimeError as error:
            frame[slot] = _Failed(str(error))
        return body(frame)

    return bound


class _Failed(str):
    """The error of a bound variable; it is raised where the variable is used, as upstream evaluates it only there."""

    __slots__ = ()


def _bound_variable(slot: int) -> Closure:
    def variable(frame: list[Any]) -> Any:
        value = frame[slot]
        if type(value) is _Failed:
            raise CelRuntimeError(value)
        return value

    return variable


def _list_with_optionals(elements: list[Closure], optional: frozenset[int]) -> Closure:
    def build(frame: list[Any]) -> list[Any]:
        result = []
        for index, element in enumerate(elements):
            value = element(frame)
            if index not in optional:
                result.append(value)
            elif type(value) is not Optional:
                shown = operators.show(value)
                raise CelRuntimeError(f"cannot initialize optional list element from non-optional value {shown}")
            elif value is not NONE:
                result.append(value.value)
        return result

    return build


def _build_map(entries: list[tuple[Closure, Closure, bool]], frame: list[Any]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value, optional in entries:
        built, content = key(frame), value(frame)
        if optional:
            if type(content) is not Optional:
                shown = f"'{operators.show(built)}' from non-optional value {operators.show(content)}"
                raise CelRuntimeError(f"cannot initialize optional entry {shown}")
            if content is NONE:
                continue
            content = content.value
        try:
            result[map_key(built)] = content
        except TypeError:
            raise CelRuntimeError(f"unsupported key type: {type_name(built)}") from None
    return result
