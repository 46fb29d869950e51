"""What is wrong with the syntax of an expression, in the words of ANTLR, which cel-go parses with.

Only for expressions that do not parse: they are read once more, by the parser that ANTLR made of ``antlr/CEL.g4``.
``parser`` imports this module, and with it ANTLR's runtime, when the first expression fails.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple, cast

from antlr4.CommonTokenStream import CommonTokenStream
from antlr4.error.ErrorListener import ErrorListener
from antlr4.error.Errors import LexerNoViableAltException, RecognitionException
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.InputStream import InputStream
from antlr4.IntervalSet import IntervalSet
from antlr4.Parser import Parser
from antlr4.ParserRuleContext import ParserRuleContext
from antlr4.Recognizer import Recognizer
from antlr4.Token import Token
from antlr4.tree.Tree import ParseTreeListener

from drakit_api.cel.errors import MOST_PROBLEMS, Problem
from drakit_api.cel.syntax import recursion
from drakit_api.cel.syntax.antlr.CELLexer import CELLexer
from drakit_api.cel.syntax.antlr.CELParser import CELParser
from drakit_api.cel.syntax.nesting import LIMIT

# cel-go's limits (``parser/parser.go``, ``NewParser``).
_MOST_RECOVERIES = 30
_MOST_SKIPPED = 256
# ANTLR's parsers call themselves for each rule within a rule, of which there are at most LIMIT of each kind.
_CALLS = LIMIT * 24
# The error that cel-go rewrites: a keyword after a dot.
_KEYWORD_BEHIND_DOT = re.compile(r"no viable alternative at input '.(true|false|null)'")


class Name(NamedTuple):
    """The name of a variable or function, and where it is."""

    text: str
    offset: int


class _Stopped(Exception):
    """No more is read, as cel-go panics."""


def find(source: str) -> tuple[list[Problem], list[Name]]:
    """Return all that cel-go would report, nothing if the syntax is right, and the names of variables and functions.

    There are no names if reading did not come to the end.
    """
    complaints, seen = _Complaints(), _Rules()
    lexer = _Lexer(InputStream(source))
    parser = _Parser(CommonTokenStream(lexer))
    for recognizer in (lexer, parser):
        recognizer.removeErrorListeners()
        recognizer.addErrorListener(complaints)
    parser.buildParseTrees = False
    parser.addParseListener(seen)
    parser._errHandler = _Recovery()
    try:
        with recursion.deeper(_CALLS):
            parser.start()  # type: ignore[no-untyped-call]  # generated
    except _Stopped as stopped:
        problems = complaints.problems + [Problem(-1, message) for message in stopped.args]
        return problems, []
    return complaints.problems + seen.problems, seen.names


class _Lexer(CELLexer):
    def getErrorDisplay(self, text: str) -> str:
        """Return it as it is, as the runtime for Go does."""
        return text


class _Parser(CELParser):
    may_skip: int | None = None

    def consume(self) -> Token:  # type: ignore[override]  # its stubs forget that it returns one
        """Go to the next token. Raises ``_Stopped`` where too many are skipped behind an error."""
        if self.may_skip is not None:
            if self.may_skip == 0:
                raise _Stopped(f"error recovery token lookahead limit exceeded: {_MOST_SKIPPED}")
            self.may_skip -= 1
        token: Token = super().consume()  # type: ignore[assignment]
        return token

    def getExpectedTokens(self) -> IntervalSet:
        """Return a copy: the runtime adds to what it gets here, which may be what is kept for all parsers."""
        tokens = IntervalSet()
        tokens.addSet(super().getExpectedTokens())  # type: ignore[no-untyped-call]
        return tokens


class _Complaints(ErrorListener):
    """Collects what lexer and parser report."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []

    def syntaxError(
        self,
        recognizer: Recognizer,
        symbol: Token | None,
        line: int,
        column: int,
        message: str,
        error: Exception | None,
    ) -> None:
        offset = error.startIndex if isinstance(error, LexerNoViableAltException) else symbol.start if symbol else -1
        message = _KEYWORD_BEHIND_DOT.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        self.problems.append(Problem(offset, f"Syntax error: {message}"))
        if len(self.problems) > MOST_PROBLEMS:
            raise _Stopped


class _Rules(ParseTreeListener):
    """Collects names, as cel-go's visitor does when a tree is there, and counts how deep each rule nests."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.names: list[Name] = []
        self._depths = Counter[int]()

    def enterEveryRule(self, context: ParserRuleContext) -> None:
        rule = context.getRuleIndex()
        self._depths[rule] += 1
        if self._depths[rule] > LIMIT:
            raise _Stopped(f"expression recursion limit exceeded: {LIMIT}")

    def exitEveryRule(self, context: ParserRuleContext) -> None:
        self._depths[context.getRuleIndex()] -= 1
        if isinstance(context, CELParser.VariableContext | CELParser.FunctionContext):
            name = cast("Token | None", context.name)
            if name is not None:
                self.names.append(Name(name.text, name.start))
        elif type(context) is CELParser.EscapeIdentContext:
            # Neither of its alternatives was read.
            assert context.start is not None
            self.problems.append(Problem(context.start.start, "unsupported ident kind"))


class _Recovery(DefaultErrorStrategy):
    """Goes on behind an error as ANTLR does, within cel-go's limits (``recoveryLimitErrorStrategy``)."""

    def __init__(self) -> None:
        super().__init__()
        self._recoveries = 0

    def recover(self, recognizer: Parser, error: RecognitionException) -> None:
        assert isinstance(recognizer, _Parser)
        self._count(recognizer)
        recognizer.may_skip = _MOST_SKIPPED
        super().recover(recognizer, error)
        recognizer.may_skip = None

    def recoverInline(self, recognizer: Parser) -> Token:
        self._count(recognizer)
        token: Token = super().recoverInline(recognizer)  # type: ignore[no-untyped-call]
        return token

    def _count(self, recognizer: Parser) -> None:
        if self._recoveries == _MOST_RECOVERIES:
            recognizer.notifyErrorListeners(f"error recovery attempt limit exceeded: {_MOST_RECOVERIES}")
            raise _Stopped
        self._recoveries += 1
