"""From the text of a selector to its syntax tree.

The grammar is cel-python's, extended by ``selector.lark``; lark builds the parser and calls ``_Builder`` on each
reduction, so that neither a parse tree nor recursion is needed. celpy itself is not imported: it takes longer to load
than the rest of this package together.
"""

from __future__ import annotations

import functools
import importlib.machinery
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from . import literals, macros, nesting, syntax_errors
from .errors import CelCompileError, Problem, describe
from .syntax import Call, Entry, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select

_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "null", "return", "true", "var", "void", "while"),
    }
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})


class _Refused(Exception):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(position, message)


def parse(source: str) -> Node:
    """The syntax tree with macros recognized. Raises ``CelCompileError`` in cel-go's words."""
    too_deep = nesting.brackets_problem(source)
    if too_deep:
        raise CelCompileError("compilation failed: " + describe(source, [Problem(-1, too_deep)]))
    try:
        tree = _lark().parse(source)
    except _Refused as refused:
        problem = refused.problem
    except UnexpectedInput:
        problem = Problem(len(source), "Syntax error: mismatched input '<EOF>' expecting <EOF>")
    else:
        assert isinstance(tree, Node)
        too_deep = nesting.depth_problem(tree)
        if not too_deep:
            return tree
        raise CelCompileError("compilation failed: " + describe(source, [Problem(-1, too_deep)]))
    problems = syntax_errors.find(_lark(), source)
    if not problems or problem.message.startswith("reserved"):
        problems.append(problem)
    raise CelCompileError("compilation failed: " + describe(source, problems))


@functools.cache
def _lark() -> Lark:
    found = importlib.machinery.PathFinder.find_spec("celpy")
    assert found is not None
    assert found.submodule_search_locations
    grammar = Path(__file__).with_name("selector.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        start="expr",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=_Builder(),
        import_paths=list(found.submodule_search_locations),
    )


def _nodes(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


def _start(token: Token) -> int:
    return token.start_pos or 0


def _binary(function: str) -> Callable[[Any, list[Any]], tuple[str, Node, int]]:
    """The left half of a binary expression: its operator, left operand and position."""

    def left_half(self: object, children: list[Any]) -> tuple[str, Node, int]:
        return function, children[0], _start(children[1])

    return left_half


class _Builder(Transformer[Token, Node]):
    """Builds a node for each rule of the grammar; the rules' names are those of cel.lark and selector.lark."""

    relation_lt = _binary("_<_")
    relation_le = _binary("_<=_")
    relation_gt = _binary("_>_")
    relation_ge = _binary("_>=_")
    relation_eq = _binary("_==_")
    relation_ne = _binary("_!=_")
    relation_in = _binary("@in")
    addition_add = _binary("_+_")
    addition_sub = _binary("_-_")
    multiplication_mul = _binary("_*_")
    multiplication_div = _binary("_/_")
    multiplication_mod = _binary("_%_")

    def expr(self, children: list[Any]) -> Node:
        if len(children) == 1:
            return _node(children[0])
        condition, question, yes, _, no = children
        return Call(_start(question), "_?_:_", None, [condition, yes, no])

    def conditionalor(self, children: list[Any]) -> Node:
        return _chain("_||_", children)

    def conditionaland(self, children: list[Any]) -> Node:
        return _chain("_&&_", children)

    def relation(self, children: list[Any]) -> Node:
        return _infix(children)

    addition = multiplication = relation

    def unary(self, children: list[Any]) -> Node:
        if len(children) == 1:
            return _node(children[0])
        operator, operand = children
        function = "!_" if operator == "!" else "-_"
        if function == "-_" and isinstance(operand, Literal) and operand.position == _start(operator) + 1:
            return _negated(operand)
        if isinstance(operand, Call) and operand.function == function and operand.position == _start(operator) + 1:
            return operand.arguments[0]  # cel-go drops pairs
        return Call(_start(operator), function, None, [operand])

    def unary_not(self, children: list[Any]) -> Token:
        token = children[0]
        assert isinstance(token, Token)
        return token

    unary_neg = unary_not

    def member(self, children: list[Any]) -> Node:
        return _node(children[0])

    primary = member

    def paren_expr(self, children: list[Any]) -> Node:
        return _node(children[1])

    def member_dot(self, children: list[Any]) -> Node:
        operand, dot, name = children
        return Select(_start(dot), operand, _field(name))

    def member_optional_dot(self, children: list[Any]) -> Node:
        operand, dot, _, name = children
        return Select(_start(dot), operand, _field(name), optional=True)

    def member_escaped(self, children: list[Any]) -> Node:
        operand, dot, name = children
        return Select(_start(dot), operand, str(name)[1:-1])

    def member_optional_escaped(self, children: list[Any]) -> Node:
        operand, dot, _, name = children
        return Select(_start(dot), operand, str(name)[1:-1], optional=True)

    def member_dot_arg(self, children: list[Any]) -> Node:
        target, _, name, parenthesis, *rest = children
        return _expanded(Call(_start(parenthesis), _field(name), target, _arguments(rest)))

    def member_index(self, children: list[Any]) -> Node:
        return Call(_start(children[1]), "_[_]", None, [children[0], children[2]])

    def member_optional_index(self, children: list[Any]) -> Node:
        return Call(_start(children[1]), "_[?_]", None, [children[0], children[3]])

    def member_object(self, children: list[Any]) -> Node:
        name, node = [], children[0]
        while isinstance(node, Select) and not node.optional and not node.presence:
            name.append(node.name)
            node = node.operand
        written = ".".join([node.name, *reversed(name)]) if isinstance(node, Ident) else ""
        return Message(_start(children[1]), written)

    def ident(self, children: list[Any]) -> Node:
        return Ident(_start(children[0]), _unreserved(children[0]))

    def dot_ident(self, children: list[Any]) -> Node:
        return Ident(_start(children[1]), "." + _unreserved(children[1]))

    def ident_arg(self, children: list[Any]) -> Node:
        name, parenthesis, *rest = children
        return _expanded(Call(_start(parenthesis), _unreserved(name), None, _arguments(rest)))

    def dot_ident_arg(self, children: list[Any]) -> Node:
        _, name, parenthesis, *rest = children
        return Call(_start(parenthesis), "." + _unreserved(name), None, _arguments(rest))

    def exprlist(self, children: list[Any]) -> list[Node]:
        return _nodes(children)

    def entry(self, children: list[Any]) -> tuple[bool, Node]:
        return len(children) == 2, children[-1]

    def map_entry(self, children: list[Any]) -> Entry:
        *question, key, _, value = children
        return Entry(key, value, bool(question))

    def field_entry(self, children: list[Any]) -> tuple[str, Node]:
        return str(children[-3]), children[-1]

    def list_lit(self, children: list[Any]) -> Node:
        entries = _nodes(children)
        optional = frozenset(index for index, (is_optional, _) in enumerate(entries) if is_optional)
        return ListLiteral(_start(children[0]), [node for _, node in entries], optional)

    def map_lit(self, children: list[Any]) -> Node:
        return MapLiteral(_start(children[0]), _nodes(children))

    def literal(self, children: list[Any]) -> Node:
        token = children[0]
        try:
            return Literal(_start(token), _LITERALS[token.type](str(token)))
        except ValueError as error:
            raise _Refused(_start(token), str(error)) from None


_LITERALS: dict[str, Callable[[str], Any]] = {
    "FLOAT_LIT": literals.double,
    "UINT_LIT": literals.unsigned,
    "INT_LIT": literals.integer,
    "STRING_LIT": literals.string,
    "BYTES_LIT": literals.bytestring,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}


def _node(child: Any) -> Node:
    assert isinstance(child, Node), child
    return child


def _negated(literal: Literal) -> Node:
    """``--1``: cel-go drops pairs of signs."""
    if isinstance(literal.value, bool) or not isinstance(literal.value, int | float):
        return Call(literal.position - 1, "-_", None, [literal])
    return Literal(literal.position - 1, -literal.value)


def _infix(children: list[Any]) -> Node:
    if len(children) == 1:
        return _node(children[0])
    (function, left, position), right = children
    return Call(position, function, None, [left, right])


def _chain(function: str, children: list[Any]) -> Node:
    """Flatten ``a || b || c``: a selector may have thousands of them, more than nested calls could take."""
    if len(children) == 1:
        return _node(children[0])
    left, operator, right = children
    if isinstance(left, Call) and left.function == function:
        left.arguments.append(right)
        return left
    return Call(_start(operator), function, None, [left, right])


def _arguments(rest: list[Any]) -> list[Node]:
    return rest[0] if len(rest) == 2 else []


def _expanded(call: Call) -> Node:
    try:
        return macros.expand(call)
    except macros.MacroError as error:
        raise _Refused(error.position, str(error)) from None


def _unreserved(name: Token) -> str:
    if name in _RESERVED:
        raise _Refused(_start(name), f"reserved identifier: {name}")
    return str(name)


def _field(name: Token) -> str:
    if name in _KEYWORDS:
        raise _Refused(_start(name), f"Syntax error: mismatched input '{name}' expecting IDENTIFIER")
    return str(name)
