"""What ANTLR says of tokens that are no expression, and how it goes on behind each error to find the next.

After the parser that ANTLR 4 makes of cel-go's grammar, and its ``DefaultErrorStrategy`` (antlr4-go v4
``error_strategy.go``), with the limits that cel-go v0.29.2 sets (``parser/parser.go``): a token too many is left out, a
missing one made up, and where that does not help a rule is given up and tokens are skipped until one may stand behind
it. There is no recursion: expressions nest deeper than Python does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from drakit_api.cel.errors import MOST_PROBLEMS, Problem
from drakit_api.cel.syntax.antlr_network import END, TOKENS, Call, Kind, Network, State
from drakit_api.cel.syntax.antlr_prediction import NoWay, Prediction

_MOST_RECOVERIES = 30
_MOST_SKIPPED = 256


class Token(NamedTuple):
    """A token; ``before`` are the blanks and comments between it and the one before."""

    name: str
    text: str
    offset: int
    before: str = ""


class _Frame(NamedTuple):
    """A rule that is being read, and where it goes on behind it."""

    rule: str
    level: int
    behind: State | None


class _GivenUp(Exception):
    """Of a rule."""


class _Ended(Exception):
    """No more is read."""


class _Parse(NamedTuple):
    network: Network
    prediction: Prediction


@functools.cache
def _tables() -> _Parse:
    network = Network()
    return _Parse(network, Prediction(network))


class Found(NamedTuple):
    """What is wrong with the order of tokens; and, if reading came to the end, what cel-go looks at after that.

    These are the names of variables and functions, and where there is none behind ``.?``.
    """

    problems: list[Problem]
    names: list[Token]
    nameless: list[int]


def read(tokens: Sequence[Token]) -> Found:
    """Read tokens, of which the last is ``END``."""
    parser = _Parser(tokens)
    try:
        parser.read()
    except _Ended:
        return Found(parser.problems, [], [])
    return Found(parser.problems, parser.names, parser.nameless)


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.problems: list[Problem] = []
        self.names: list[Token] = []
        self.nameless: list[int] = []
        self._rule_begin = 0
        self._tokens, self._kinds = tokens, [token.name for token in tokens]
        self._at = 0
        self._network, self._prediction = _tables()
        self._frames = [_Frame("start", 0, None)]
        self._state = self._network.starts["start"]
        self._recovering, self._recoveries = False, 0
        # Where a rule was given up last, to get on at all.
        self._given_up_at, self._given_up_in = -1, set[State]()

    def read(self) -> None:
        """To the end, or until it is too much."""
        state = self._state
        while True:
            if state.kind is Kind.STOP:
                behind = self._frames.pop().behind
                if behind is None:
                    return
                state = behind
                continue
            try:
                state = self._step(state)
            except _GivenUp:
                if self._frames[-1].rule == "escapeIdent":
                    self.nameless.append(self._rule_begin)
                self._recover()
                state = self._network.stops[self._frames[-1].rule]

    def _step(self, state: State) -> State:
        if state.kind not in (Kind.PLAIN, Kind.JOIN):
            return self._choose(state)
        label, target = state.edges[0]
        if label is None:
            return target
        self._state = state
        if isinstance(label, Call):
            self._frames.append(_Frame(label.rule, label.level, target))
            self._rule_begin = self._tokens[self._at].offset
            return self._network.starts[label.rule]
        self._match(state, label)
        return target

    def _choose(self, state: State) -> State:
        self._synchronize(state)
        if state.kind is Kind.LOOP_BACK and len(state.edges) == 1:
            state = state.edges[0][1]
        if state.levels is not None:
            goes_on = state.levels.get(self._kinds[self._at], -1) >= max(self._frames[-1].level, 1)
            return state.edges[0 if goes_on else 1][1]
        try:
            return state.edges[self._prediction.edge(state, self._kinds, self._at)][1]
        except NoWay as error:
            self._report_no_way(error.index)
            raise _GivenUp from None

    def _match(self, state: State, wanted: frozenset[str]) -> None:
        if self._kinds[self._at] in wanted:
            if state.names:
                self.names.append(self._tokens[self._at])
            self._matched()
            self._consume()
        elif not self._recover_inline(state):
            self._report_mismatch()
            raise _GivenUp

    def _matched(self) -> None:
        self._recovering, self._given_up_at, self._given_up_in = False, -1, set()

    def _consume(self) -> None:
        self._at = min(self._at + 1, len(self._tokens) - 1)

    def _synchronize(self, state: State) -> None:
        """Before a choice: what cannot come next is dropped at once (``Sync``)."""
        self._state = state
        if self._recovering:
            return
        tokens, ends = self._network.next_tokens(state)
        if ends or self._kinds[self._at] in tokens:
            return
        if state.kind is Kind.LOOP_BACK:
            self._report_unwanted()
            self._skip_to(self._expected() | self._recovery_tokens())
        elif not self._drop_one():
            self._report_mismatch()
            raise _GivenUp

    def _recover_inline(self, state: State) -> bool:
        """Whether one token less or one more helps."""
        self._count_recovery()
        if self._drop_one():
            if state.names:
                self.names.append(self._tokens[self._at])
            self._consume()
            return True
        if self._kinds[self._at] in self._next_in_context(state.edges[0][1]):
            self._report("missing {expected} at {token}")
            return True
        return False

    def _drop_one(self) -> bool:
        following = self._kinds[min(self._at + 1, len(self._kinds) - 1)]
        if following not in self._expected():
            return False
        self._report_unwanted()
        self._consume()
        self._matched()
        return True

    def _recover(self) -> None:
        """Behind a rule that was given up."""
        self._count_recovery()
        skipped = 0
        if self._given_up_at == self._at and self._state in self._given_up_in:
            self._consume()
            skipped = 1
        self._given_up_at = self._at
        self._given_up_in.add(self._state)
        self._skip_to(self._recovery_tokens(), skipped)

    def _count_recovery(self) -> None:
        if self._recoveries == _MOST_RECOVERIES:
            self._add(f"error recovery attempt limit exceeded: {_MOST_RECOVERIES}")
            raise _Ended
        self._recoveries += 1

    def _skip_to(self, wanted: frozenset[str], skipped: int = 0) -> None:
        while self._kinds[self._at] != END and self._kinds[self._at] not in wanted:
            if skipped >= _MOST_SKIPPED:
                self.problems.append(Problem(-1, f"error recovery token lookahead limit exceeded: {_MOST_SKIPPED}"))
                raise _Ended
            skipped += 1
            self._consume()

    def _recovery_tokens(self) -> frozenset[str]:
        """What may stand behind any of the rules that are being read."""
        behind = [frame.behind for frame in self._frames if frame.behind is not None]
        return frozenset[str]().union(*(self._network.next_tokens(state)[0] for state in behind))

    def _expected(self) -> frozenset[str]:
        return self._next_in_context(self._state)

    def _next_in_context(self, state: State) -> frozenset[str]:
        """The tokens that may come next here, also behind the rules that may end here."""
        tokens, ends = self._network.next_tokens(state)
        for frame in reversed(self._frames):
            if not ends:
                return tokens
            if frame.behind is None:
                return tokens | {END}
            more, ends = self._network.next_tokens(frame.behind)
            tokens |= more
        return tokens

    def _report_unwanted(self) -> None:
        self._report("extraneous input {token} expecting {expected}")

    def _report_mismatch(self) -> None:
        self._report("mismatched input {token} expecting {expected}")

    def _report_no_way(self, index: int) -> None:
        """At the token where the last way ended, all that was read on it."""
        first, last = self._at, min(self._at + index, len(self._tokens) - 1)
        text = self._tokens[first].text + "".join(
            token.before + ("" if token.name == END else token.text) for token in self._tokens[first + 1 : last + 1]
        )
        self._report(f"no viable alternative at input {_shown(text)}", last)

    def _report(self, message: str, at: int | None = None) -> None:
        """Once, until a token fits again."""
        if self._recovering:
            return
        self._recovering = True
        if "{token}" in message:
            token, expected = _shown(self._tokens[self._at].text), _listed(self._expected())
            message = message.replace("{token}", token).replace("{expected}", expected)
        self._add(message, at)

    def _add(self, message: str, at: int | None = None) -> None:
        offset = self._tokens[self._at if at is None else at].offset
        self.problems.append(Problem(offset, f"Syntax error: {message}"))
        if len(self.problems) > MOST_PROBLEMS:
            raise _Ended


def _shown(text: str) -> str:
    return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"


def _listed(tokens: frozenset[str]) -> str:
    names = [token for token in TOKENS if token in tokens]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
