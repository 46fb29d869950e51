"""From the text of a selector to its syntax tree.

lark parses by ``grammar.lark`` and calls ``_Builder`` on each reduction, so that neither a parse tree nor recursion is
needed. The parser is loaded on first use.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from drakit_api.cel.errors import CelCompileError, Problem, describe
from drakit_api.cel.syntax import grammar, literals, macros, nesting
from drakit_api.cel.syntax.tree import Call, Entry, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select
from drakit_api.cel.syntax.visitor import dotted_name

_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("package", "namespace", "null", "return", "true", "var", "void", "while"),
    }
)
_IS_RESERVED = "reserved identifier: "
_KEYWORDS = frozenset({"in", "true", "false", "null"})


class _Refused(Exception):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(position, message)


# An expression of a definition is parsed when that is validated, and again when its first object is.
_REMEMBERED = 64
_LONGEST_REMEMBERED = 1024


def parse(source: str) -> Node:
    """Parse a selector into its syntax tree, with macros recognized. Raises ``CelCompileError`` in cel-go's words."""
    if len(source) > _LONGEST_REMEMBERED:
        return _parsed(source)
    tree: Node = pickle.loads(_pickled(source))  # noqa: S301  # made below
    return tree


@functools.lru_cache(_REMEMBERED)
def _pickled(source: str) -> bytes:
    """Keep a tree so that each call has one of its own: the checker writes into it. Ten times as fast as parsing."""
    return pickle.dumps(_parsed(source), pickle.HIGHEST_PROTOCOL)


def _parsed(source: str) -> Node:
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
    # Imported here: it loads ANTLR's runtime, which takes longer than all else that parses.
    from drakit_api.cel.syntax import syntax_errors

    problems, names = syntax_errors.find(source)
    problems += [Problem(name.offset, f"{_IS_RESERVED}{name.text}") for name in names if name.text in _RESERVED]
    if not problems or not problem.message.startswith(("Syntax error", "unable to unescape", _IS_RESERVED)):
        problems.append(problem)
    raise CelCompileError("compilation failed: " + describe(source, problems))


def tokens(source: str) -> Iterator[tuple[str, int]]:
    """Yield the tokens of a valid source, each with its offset, without blanks and comments."""
    return ((str(token), _start(token)) for token in _lark().lex(source))


@functools.cache
def _lark() -> Lark:
    return grammar.parser(_Builder())


def _nodes(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


def _start(token: Token) -> int:
    return token.start_pos or 0


class _Builder(Transformer[Token, Node]):
    """Builds a node for each rule of the grammar; its methods have the names of the rules."""

    def conditional(self, children: list[Any]) -> Node:
        condition, question, yes, _, no = children
        return Call(_start(question), "_?_:_", None, [condition, yes, no])

    def binary(self, children: list[Any]) -> Node:
        """Join operators by precedence, those of the same from left to right."""
        operands: list[Node] = [children[0]]
        operators: list[Token] = []
        for operator, operand in zip(children[1::2], children[2::2], strict=True):
            while operators and _PRECEDENCE[operators[-1]] >= _PRECEDENCE[operator]:
                _combine(operators.pop(), operands)
            operators.append(operator)
            operands.append(operand)
        while operators:
            _combine(operators.pop(), operands)
        return operands[0]

    def inversion(self, children: list[Any]) -> Node:
        *signs, operand = children
        return _signed("!_", signs, len(signs), operand)

    def negation(self, children: list[Any]) -> Node:
        *signs, operand = children
        return _signed("-_", signs, sum(sign.count("-") for sign in signs), operand)

    def parenthesized(self, children: list[Any]) -> Node:
        return _node(children[1])

    def select(self, children: list[Any]) -> Node:
        operand, dot, name = children
        return Select(_start(dot), operand, _field(name))

    def select_optional(self, children: list[Any]) -> Node:
        operand, dot, _, name = children
        return Select(_start(dot), operand, _field(name), optional=True)

    def select_escaped(self, children: list[Any]) -> Node:
        operand, dot, name = children
        return Select(_start(dot), operand, str(name)[1:-1])

    def select_optional_escaped(self, children: list[Any]) -> Node:
        operand, dot, _, name = children
        return Select(_start(dot), operand, str(name)[1:-1], optional=True)

    def method(self, children: list[Any]) -> Node:
        target, _, name, parenthesis, *rest = children
        return _expanded(Call(_start(parenthesis), _field(name), target, _arguments(rest)))

    def index(self, children: list[Any]) -> Node:
        return Call(_start(children[1]), "_[_]", None, [children[0], children[2]])

    def index_optional(self, children: list[Any]) -> Node:
        return Call(_start(children[1]), "_[?_]", None, [children[0], children[3]])

    def message(self, children: list[Any]) -> Node:
        return Message(_start(children[1]), dotted_name(children[0]).removeprefix("."), _nodes(children[2:]))

    def ident(self, children: list[Any]) -> Node:
        return Ident(_start(children[0]), _unreserved(children[0]))

    def global_ident(self, children: list[Any]) -> Node:
        return Ident(_start(children[1]), "." + _unreserved(children[1]))

    def function(self, children: list[Any]) -> Node:
        name, parenthesis, *rest = children
        return _expanded(Call(_start(parenthesis), _unreserved(name), None, _arguments(rest)))

    def global_function(self, children: list[Any]) -> Node:
        _, name, parenthesis, *rest = children
        return Call(_start(parenthesis), "." + _unreserved(name), None, _arguments(rest))

    def arguments(self, children: list[Any]) -> list[Node]:
        return _nodes(children)

    def element(self, children: list[Any]) -> tuple[bool, Node]:
        return len(children) == 2, children[-1]

    def entry(self, children: list[Any]) -> Entry:
        *question, key, _, value = children
        return Entry(key, value, bool(question))

    def field(self, children: list[Any]) -> Entry:
        *question, name, colon, value = children
        key = str(name)[1:-1] if name.type == "ESC_IDENT" else _field(name)
        return Entry(Literal(_start(colon), key), value, bool(question))

    def list_literal(self, children: list[Any]) -> Node:
        entries = _nodes(children)
        optional = frozenset(index for index, (is_optional, _) in enumerate(entries) if is_optional)
        return ListLiteral(_start(children[0]), [node for _, node in entries], optional)

    def map_literal(self, children: list[Any]) -> Node:
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


_LEVELS = (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_PRECEDENCE = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


def _combine(operator: Token, operands: list[Node]) -> None:
    """Replace the last two operands by a call. ``a || b || c`` is one call: there may be thousands of them."""
    right, left = operands.pop(), operands[-1]
    function = "@in" if operator == "in" else f"_{operator}_"
    if isinstance(left, Call) and left.function == function and function in ("_&&_", "_||_"):
        left.arguments.append(right)
    else:
        operands[-1] = Call(_start(operator), function, None, [left, right])


def _signed(function: str, signs: list[Token], count: int, operand: Node) -> Node:
    """Apply signs; pairs of them are dropped, as cel-go does."""
    return Call(_start(signs[0]), function, None, [operand]) if count % 2 else operand


def _arguments(rest: list[Any]) -> list[Node]:
    return rest[0] if len(rest) == 2 else []


def _expanded(call: Call) -> Node:
    try:
        return macros.expand(call)
    except macros.MacroError as error:
        raise _Refused(error.position, str(error)) from None


def _unreserved(name: Token) -> str:
    if name in _RESERVED:
        raise _Refused(_start(name), f"{_IS_RESERVED}{name}")
    return str(name)


def _field(name: Token) -> str:
    if name in _KEYWORDS:
        raise _Refused(_start(name), f"Syntax error: mismatched input '{name}' expecting IDENTIFIER")
    return str(name)
