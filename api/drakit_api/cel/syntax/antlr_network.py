"""The grammar of CEL as ANTLR has it: a network of states for each rule, and which tokens may come next in them.

Only for messages: what is wrong with an expression depends on where ANTLR, which cel-go parses with, finds it out.
Written after cel-go v0.29.2 ``parser/gen/CEL.g4``, and how ANTLR 4 makes networks of rules (``atn``): rules that begin
with themselves become loops with levels of precedence. Tokens have the names that messages have for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

END = "<EOF>"
IDENTIFIER, ESCAPED = "IDENTIFIER", "ESC_IDENTIFIER"
# In the order of their numbers, which messages list them in.
TOKENS = (
    END,
    *("'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'", "'&&'", "'||'", "'['", "']'", "'{'", "'}'", "'('", "')'"),
    *("'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'"),
    *("NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", IDENTIFIER, ESCAPED),
)
RELATIONS = ("'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'")
PRODUCTS, SUMS = ("'*'", "'/'", "'%'"), ("'+'", "'-'")


class Kind(Enum):
    """What a state is to the recovery from errors."""

    PLAIN = auto()
    CHOICE = auto()
    LOOP = auto()
    LOOP_BACK = auto()
    JOIN = auto()
    STOP = auto()


@dataclass(frozen=True, slots=True)
class Call:
    """A transition through another rule, whose loops take what is at least of this level of precedence."""

    rule: str
    level: int = 0


@dataclass(eq=False, slots=True)
class State:
    """A place in a rule; ``edges`` lead on by a set of tokens, a rule or (None) nothing.

    ``levels``: of a loop by precedence, what each token that begins a turn is. ``names``: the
    token that is read here is the name of a variable or function.
    """

    rule: str
    kind: Kind = Kind.PLAIN
    edges: list[tuple[frozenset[str] | Call | None, State]] = field(default_factory=list)
    levels: dict[str, int] | None = None
    names: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """The token of a variable or function."""


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    options: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Optional:
    """It, or nothing."""

    part: Part


@dataclass(frozen=True, slots=True)
class Many:
    """It any number of times; ``levels`` as in ``State``."""

    part: Part
    levels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class More:
    """It once or more often."""

    part: Part


Part = str | frozenset[str] | Call | Name | Either | Optional | Many | More | tuple["Part", ...]


def _listed(item: Part) -> Part:
    return (item, Many(("','", item)))


def _levels(*levels: tuple[Iterable[str], int]) -> tuple[tuple[str, int], ...]:
    return tuple((token, level) for tokens, level in levels for token in tokens)


_EXPR, _OPT_EXPR, _ESCAPABLE = Call("expr"), Call("optExpr"), Call("escapeIdent")
_DOT = Optional("'.'")
_ARGUMENTS: Part = ("'('", Optional(Call("exprList")), "')'")
_ENTRY: Part = (_OPT_EXPR, "':'", _EXPR)
_FIELD: Part = (Call("optField"), "':'", _EXPR)
_COMMA = Optional("','")
RULES: dict[str, Part] = {
    "start": (_EXPR, END),
    "expr": (Call("conditionalOr"), Optional(("'?'", Call("conditionalOr"), "':'", _EXPR))),
    "conditionalOr": (Call("conditionalAnd"), Many(("'||'", Call("conditionalAnd")))),
    "conditionalAnd": (Call("relation"), Many(("'&&'", Call("relation")))),
    "relation": (Call("calc"), Many((frozenset(RELATIONS), Call("relation", 2)), _levels((RELATIONS, 1)))),
    "calc": (
        Call("unary"),
        Many(
            Either(((frozenset(PRODUCTS), Call("calc", 3)), (frozenset(SUMS), Call("calc", 2)))),
            _levels((PRODUCTS, 2), (SUMS, 1)),
        ),
    ),
    "unary": Either((Call("member"), (More("'!'"), Call("member")), (More("'-'"), Call("member")))),
    "member": (
        Call("primary"),
        Many(
            Either(
                (
                    ("'.'", Optional("'?'"), _ESCAPABLE),
                    ("'.'", IDENTIFIER, _ARGUMENTS),
                    ("'['", Optional("'?'"), _EXPR, "']'"),
                )
            ),
            _levels((("'.'", "'['"), 1)),
        ),
    ),
    "primary": Either(
        (
            (_DOT, Name()),
            (_DOT, Name(), _ARGUMENTS),
            ("'('", _EXPR, "')'"),
            ("'['", Optional(Call("listInit")), _COMMA, "']'"),
            ("'{'", Optional(Call("mapInitializerList")), _COMMA, "'}'"),
            (
                *(_DOT, IDENTIFIER, Many(("'.'", IDENTIFIER))),
                *("'{'", Optional(Call("fieldInitializerList")), _COMMA, "'}'"),
            ),
            Call("literal"),
        )
    ),
    "exprList": _listed(_EXPR),
    "listInit": _listed(_OPT_EXPR),
    "fieldInitializerList": _listed(_FIELD),
    "optField": (Optional("'?'"), _ESCAPABLE),
    "mapInitializerList": _listed(_ENTRY),
    "escapeIdent": Either((IDENTIFIER, ESCAPED)),
    "optExpr": (Optional("'?'"), _EXPR),
    "literal": Either(
        (
            (Optional("'-'"), "NUM_INT"),
            "NUM_UINT",
            (Optional("'-'"), "NUM_FLOAT"),
            *("STRING", "BYTES", "'true'", "'false'", "'null'"),
        )
    ),
}


class Network:
    """The states of all rules."""

    def __init__(self) -> None:
        self.starts = {rule: State(rule) for rule in RULES}
        self._states = list(self.starts.values())
        self.stops = {rule: State(rule, Kind.STOP) for rule in RULES}
        # Where it goes on behind a rule, wherever that is used.
        self.behind: dict[str, list[State]] = {rule: [] for rule in RULES}
        self._seen: dict[State, tuple[frozenset[str], bool]] = {}
        for rule, part in RULES.items():
            end = self._add(rule, part, self.starts[rule])
            end.edges.append((None, self.stops[rule]))
        self._shorten()

    def next_tokens(self, state: State) -> tuple[frozenset[str], bool]:
        """The tokens that may come next, and whether the rule may end without any (``ATN.NextTokens``)."""
        if state not in self._seen:
            self._seen[state] = self._look(state, set())
        return self._seen[state]

    def _look(self, state: State, visited: set[State]) -> tuple[frozenset[str], bool]:
        if state.kind is Kind.STOP:
            return frozenset(), True
        if state in visited:
            return frozenset(), False
        visited.add(state)
        tokens, ends = frozenset[str](), False
        for label, target in state.edges:
            if isinstance(label, frozenset):
                tokens |= label
                continue
            if isinstance(label, Call):
                inner, inner_ends = self.next_tokens(self.starts[label.rule])
                tokens |= inner
                if not inner_ends:
                    continue
            more, target_ends = self._look(target, visited)
            tokens, ends = tokens | more, ends or target_ends
        return tokens, ends

    def _shorten(self) -> None:
        """Leave out what is only a step to where ways join, as ANTLR does: ways that end alike are then the same."""
        for state in self._states:
            for index, (label, target) in enumerate(state.edges):
                if label is None or target.kind is not Kind.PLAIN or len(target.edges) != 1:
                    continue
                step, end = target.edges[0]
                if step is None and end.kind in (Kind.JOIN, Kind.LOOP_BACK):
                    state.edges[index] = (label, end)
        for state in self._states:
            for label, target in state.edges:
                if isinstance(label, Call):
                    self.behind[label.rule].append(target)

    def _state(self, rule: str, kind: Kind = Kind.PLAIN) -> State:
        state = State(rule, kind)
        self._states.append(state)
        return state

    def _add(self, rule: str, part: Part, begin: State) -> State:
        """Append a part to a state; the state behind it."""
        match part:
            case tuple():
                for one in part:
                    begin = self._add(rule, one, begin)
                return begin
            case Either() | Optional():
                return self._add_choice(rule, part, begin)
            case Many() | More():
                return self._add_loop(rule, part, begin)
        end = self._state(rule)
        if isinstance(part, Call):
            begin.edges.append((part, end))
        else:
            begin.names = isinstance(part, Name)
            token = IDENTIFIER if isinstance(part, Name) else part
            begin.edges.append((frozenset({token}) if isinstance(token, str) else token, end))
        return end

    def _add_choice(self, rule: str, part: Either | Optional, begin: State) -> State:
        choice, end = self._state(rule, Kind.CHOICE), self._state(rule, Kind.JOIN)
        begin.edges.append((None, choice))
        for option in part.options if isinstance(part, Either) else (part.part,):
            first = self._state(rule)
            choice.edges.append((None, first))
            self._add(rule, option, first).edges.append((None, end))
        if isinstance(part, Optional):
            choice.edges.append((None, end))
        return end

    def _add_loop(self, rule: str, part: Many | More, begin: State) -> State:
        first, back, end = self._state(rule), self._state(rule, Kind.LOOP_BACK), self._state(rule)
        if isinstance(part, More):
            begin.edges.append((None, first))
            self._add(rule, part.part, first).edges.append((None, back))
            back.edges += [(None, first), (None, end)]
            return end
        loop = self._state(rule, Kind.LOOP)
        loop.levels = dict(part.levels) or None
        begin.edges.append((None, loop))
        loop.edges += [(None, first), (None, end)]
        self._add(rule, part.part, first).edges.append((None, back))
        back.edges.append((None, loop))
        return end
