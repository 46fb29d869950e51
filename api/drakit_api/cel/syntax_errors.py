"""What is wrong with the syntax of an expression, in the words of ANTLR, which cel-go parses with.

Only run on expressions that do not parse. The source is cut into tokens once more and given to lark token by token;
where lark stops, the message is chosen as ANTLR's ``DefaultErrorStrategy`` chooses it: a token that could be dropped
is extraneous, one before which a token could be inserted is missing it, all others are mismatched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lark import Lark, Token

from .errors import Problem

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TEXT = (
    r"[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|\"[^\"\n\r]*\"|'[^'\n\r]*')"
    rf"|\"{{3}}(?:{_ESCAPE}|[^\\])*?\"{{3}}|'{{3}}(?:{_ESCAPE}|[^\\])*?'{{3}}"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_TOKEN = re.compile(
    rf"(?P<skip>[\t \r\n\f]+|//[^\n]*)|(?P<BYTES_LIT>[bB](?:{_TEXT}))|(?P<STRING_LIT>{_TEXT})"
    r"|(?P<FLOAT_LIT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT_LIT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])|(?P<INT_LIT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESC_IDENT>`[A-Za-z0-9_./ -]+`)|(?P<IDENT>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>==|!=|<=|>=|&&|\|\||[-<>+*/%!?:.,()\[\]{}])"
)
_BROKEN_TEXT = re.compile(rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*\\?.?|'(?:{_ESCAPE}|[^\\'\n\r])*\\?.?", re.DOTALL)
_KEYWORDS = {"true": "TRUE", "false": "FALSE", "null": "NULL", "in": "IN"}
_LITERALS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
# The tokens that ANTLR names, in its order, by the terminals of the grammar that stand for them.
_ORDER = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":")
_OPERATORS = ("==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "*", "/", "%")
_MAX_PROBLEMS = 100
_HARMLESS = {
    "INT_LIT": "0",
    "UINT_LIT": "0u",
    "FLOAT_LIT": "0.0",
    "STRING_LIT": "''",
    "BYTES_LIT": "b''",
    "IDENT": "x",
    "ESC_IDENT": "`x`",
}

_Parser = Any  # lark's InteractiveParser, most of which has no types


def find(grammar: Lark, source: str) -> list[Problem]:
    """All that ANTLR would report, as far as a parser of another kind can tell; nothing if the syntax is right."""
    problems: list[Problem] = []
    names = {**dict.fromkeys(_OPERATORS, "OPERATOR"), **{str(t.pattern.value): t.name for t in grammar.terminals}}
    tokens = [*_tokens(source, names, problems), Token("$END", "<EOF>", start_pos=len(source))]
    parser: _Parser = grammar.parse_interactive("")
    previous: Token | None = None
    for position, token in enumerate(tokens):
        if token.type == "MINUS" and "NEGATION" in parser.accepts():
            token.type = "NEGATION"
        if _accepts(parser, token):
            if token.type != "$END":
                _feed(parser, token)
            previous = token
            continue
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        problem, goes_on = _problem(parser, previous, token, following, names)
        problems.append(problem)
        if not goes_on or len(problems) >= _MAX_PROBLEMS:
            break
    return problems


def _tokens(source: str, names: dict[str, str], problems: list[Problem]) -> Iterator[Token]:
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            text = _unrecognized(source, position)
            problems.append(Problem(position, f"Syntax error: token recognition error at: '{_shown(text)}'"))
            position += len(text)
            continue
        position = match.end()
        text = match.group()
        if match.lastgroup == "symbol":
            yield Token(names[text], text, start_pos=match.start())
        elif match.lastgroup != "skip":
            kind = _KEYWORDS.get(text) if match.lastgroup == "IDENT" else None
            yield Token(kind or str(match.lastgroup), text, start_pos=match.start())


def _unrecognized(source: str, position: int) -> str:
    """What ANTLR's lexer drops: all that it read before it was sure that no token begins there."""
    character = source[position]
    if character in "\"'":
        broken = _BROKEN_TEXT.match(source, position)
        return broken.group() if broken else character
    return source[position : position + 2] if character in "=&|" else character


def _shown(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _accepts(parser: _Parser, token: Token) -> bool:
    return bool(token.type in parser.accepts())


def _feed(parser: _Parser, token: Token) -> None:
    """Move on. The tree builder gets harmless values: what it refuses is no matter of syntax."""
    parser.feed_token(Token(token.type, _HARMLESS.get(token.type, str(token))))


def _problem(
    parser: _Parser, previous: Token | None, token: Token, following: Token | None, names: dict[str, str]
) -> tuple[Problem, bool]:
    """The complaint about a token, and whether parsing goes on behind it."""
    accepted = parser.accepts()
    at, text = token.start_pos or 0, _shown(str(token))
    if previous is not None and previous.type == "DOT" and "IDENT" in accepted:
        shown = f".{text}" if token.type != "$END" else "."
        if token.type in ("TRUE", "FALSE", "NULL"):
            return Problem(at, f"Syntax error: mismatched input '{text}' expecting IDENTIFIER"), False
        return Problem(at, f"Syntax error: no viable alternative at input '{shown}'"), False
    expected = _expected(accepted, names)
    if following is not None and following.type in accepted:
        return Problem(at, f"Syntax error: extraneous input '{text}' expecting {expected}"), True
    single = expected if not expected.startswith("{") and expected not in ("<EOF>", "IDENTIFIER") else ""
    if single and _fits_after(parser, names[single.strip("'")], token):
        return Problem(at, f"Syntax error: missing {single} at '{text}'"), False
    return Problem(at, f"Syntax error: mismatched input '{text}' expecting {expected}"), False


def _fits_after(parser: _Parser, missing: str, token: Token) -> bool:
    tried = parser.copy()
    _feed(tried, Token(missing, ""))
    return bool(token.type in tried.accepts())


def _expected(accepted: set[str], names: dict[str, str]) -> str:
    """The set of tokens as ANTLR prints it: only what the innermost rule wants next, so operators are left out."""
    shown = [symbol for symbol in _ORDER if names[symbol] in accepted]
    if "IDENT" in accepted and len(accepted) > 2:
        starts = [symbol for symbol in _ORDER if symbol in shown or symbol in ("-", "!")]
        return "{" + "".join(f"'{symbol}', " for symbol in starts) + _LITERALS
    if "IDENT" in accepted:
        return "{IDENTIFIER, ESC_IDENTIFIER}"
    closing = [symbol for symbol in shown if symbol in "]}):,"]
    if ")" in closing:
        return "')'"
    if ":" in closing:
        return "':'"
    if closing:
        return "{" + ", ".join(f"'{symbol}'" for symbol in closing) + "}" if len(closing) > 1 else f"'{closing[0]}'"
    return "<EOF>"
