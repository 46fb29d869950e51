"""What is wrong with the syntax of an expression, in the words of ANTLR, which cel-go parses with.

Only run on expressions that do not parse: the source is cut into tokens once more, and those are read as ANTLR reads
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from drakit_api.cel.errors import MOST_PROBLEMS, Problem
from drakit_api.cel.syntax import antlr_recovery
from drakit_api.cel.syntax.antlr_network import END
from drakit_api.cel.syntax.antlr_recovery import Token

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TEXT = (
    r"[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|\"[^\"\n\r]*\"|'[^'\n\r]*')"
    rf"|\"{{3}}(?:{_ESCAPE}|[^\\])*?\"{{3}}|'{{3}}(?:{_ESCAPE}|[^\\])*?'{{3}}"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_TOKEN = re.compile(
    rf"(?P<skip>[\t \r\n\f]+|//[^\n]*)|(?P<BYTES>[bB](?:{_TEXT}))|(?P<STRING>{_TEXT})"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_./ -]+`)|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>==|!=|<=|>=|&&|\|\||[-<>+*/%!?:.,()\[\]{}])"
)
_HALF_ESCAPE = r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?"
_BROKEN_TEXT = re.compile(
    rf"(?:\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*)(?:{_HALF_ESCAPE})?.?", re.DOTALL
)
_KEYWORDS = ("true", "false", "null", "in")
# What cel-go makes of the one complaint about a keyword behind a dot.
_KEYWORD_BEHIND_DOT = re.compile(r"no viable alternative at input '.(true|false|null)'")


def find(source: str) -> tuple[list[Problem], list[Token]]:
    """All that ANTLR would report, nothing if the syntax is right; and the names of variables and functions."""
    problems: list[Problem] = []
    found = antlr_recovery.read(list(_tokens(source, problems)))
    for problem in found.problems:
        message = _KEYWORD_BEHIND_DOT.sub(r"mismatched input '\1' expecting IDENTIFIER", problem.message)
        problems.append(problem._replace(message=message))
    if len(problems) > MOST_PROBLEMS:
        # The next one ends all (``tooManyErrors``).
        return sorted(problems, key=lambda problem: problem.offset)[: MOST_PROBLEMS + 1], []
    problems += [Problem(offset, "unsupported ident kind") for offset in found.nameless]
    return problems, found.names


def _tokens(source: str, problems: list[Problem]) -> Iterator[Token]:
    position, before = 0, ""
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            text = _unrecognized(source, position)
            problems.append(Problem(position, f"Syntax error: token recognition error at: '{text}'"))
            position += len(text)
            continue
        position, text = match.end(), match.group()
        if match.lastgroup == "skip":
            before += text
            continue
        named = match.lastgroup if match.lastgroup != "symbol" and text not in _KEYWORDS else None
        yield Token(named or f"'{text}'", text, match.start(), before)
        before = ""
    yield Token(END, END, len(source), before)


def _unrecognized(source: str, position: int) -> str:
    """What ANTLR's lexer drops: all that it read before it was sure that no token begins there."""
    character = source[position]
    if character in "\"'":
        broken = _BROKEN_TEXT.match(source, position)
        return broken.group() if broken else character
    return source[position : position + 2] if character in "=&|" else character
