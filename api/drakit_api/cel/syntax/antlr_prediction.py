"""Which way ANTLR goes where there are several: by the next token if that suffices, else by as many as it needs.

After ANTLR 4's ``ParserATNSimulator`` (antlr4-go v4): all ways are followed at once until one is left. Who calls a rule
is not known to it: behind the end of the rule that it began in, everything counts that may stand behind that anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drakit_api.cel.syntax.antlr_network import END, Call, Kind, Network, State

_MOST_READ = 1024
# Where it goes on behind the rules that were entered since the choice.
_Stack = tuple[State, "_Stack"] | None
# A place, the way that led to it, and whether it is behind the rule of the choice.
_Place = tuple[State, int, _Stack, bool]


class NoWay(Exception):
    """No way leads on; ``index`` is the token, counted from the first, at which the last one ended."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Prediction:
    """Choices in a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._simple: dict[State, tuple[frozenset[str], ...] | None] = {}
        self._begun: dict[State, frozenset[_Place]] = {}
        # What reading a token leads to, as ANTLR's automaton remembers it.
        self._read: dict[tuple[frozenset[_Place], str], frozenset[_Place]] = {}
        # Of the choices that need several tokens, those that one of them decides.
        self._sure: dict[tuple[State, str], int] = {}

    def edge(self, state: State, tokens: Sequence[str], at: int) -> int:
        """Which edge of a state to take before the token ``at``. Raises ``NoWay``."""
        if (simple := self._by_next_token(state)) is not None:
            for index, first in enumerate(simple):
                if tokens[at] in first:
                    return index
            if self._may_be_left(state):
                return len(simple) - 1
            raise NoWay(0)
        sure = self._sure.get((state, tokens[at]))
        return self._by_all(state, tokens, at) if sure is None else sure

    def _may_be_left(self, state: State) -> bool:
        """Whether the last edge is the way past an optional part or out of a loop."""
        return state.kind is not Kind.CHOICE or not self._is_either(state)

    def _is_either(self, state: State) -> bool:
        target = state.edges[-1][1]
        return any(label is not None for label, _ in target.edges)

    def _by_next_token(self, state: State) -> tuple[frozenset[str], ...] | None:
        """The tokens of each edge if no token has two of them."""
        if state not in self._simple:
            sets = [self._first(target) for _, target in state.edges]
            disjoint = sum(map(len, sets)) == len(frozenset[str]().union(*sets))
            self._simple[state] = tuple(sets) if disjoint else None
        return self._simple[state]

    def _first(self, state: State) -> frozenset[str]:
        """The tokens that lead on from a state, with those that may stand behind its rule."""
        places = self._closure([(state, 0, None, False)])
        return frozenset[str]().union(
            *(label for place in places for label, _ in place[0].edges if isinstance(label, frozenset))
        )

    def _by_all(self, state: State, tokens: Sequence[str], at: int) -> int:
        places = self._begun.get(state) or self._closure(
            (target, index, None, False) for index, (_, target) in enumerate(state.edges)
        )
        self._begun[state] = places
        for read, token in enumerate(tokens[at:]):
            following = self._following(places, token)
            if not following:
                ended = [way for _, way, _, outside in places if outside]
                if not ended:
                    raise NoWay(read)
                return min(ended)
            places = following
            if (decided := self._decided(places)) is not None:
                if read == 0:
                    self._sure[state, token] = decided
                return decided
            if token == END:
                break
        return min(way for _, way, _, _ in places)

    def _following(self, places: frozenset[_Place], token: str) -> frozenset[_Place]:
        known = self._read.get((places, token))
        if known is None:
            known = self._closure(
                (target, way, stack, outside)
                for place, way, stack, outside in places
                for label, target in place.edges
                if isinstance(label, frozenset) and token in label
            )
            if len(self._read) >= _MOST_READ:
                self._read.clear()
            self._read[places, token] = known
        return known

    def _decided(self, places: frozenset[_Place]) -> int | None:
        """The way that is the only one left, or the first of several that will all come to the same."""
        ways = {way for _, way, _, _ in places}
        if len(ways) == 1:
            return ways.pop()
        by_place: dict[tuple[State, _Stack], set[int]] = {}
        by_state: dict[State, set[int]] = {}
        for state, way, stack, _ in places:
            by_place.setdefault((state, stack), set()).add(way)
            by_state.setdefault(state, set()).add(way)
        if any(len(reached) == 1 for reached in by_state.values()):
            return None
        first = {min(reached) for reached in by_place.values()}
        return first.pop() if len(first) == 1 else None

    def _closure(self, begin: Iterable[_Place]) -> frozenset[_Place]:
        """The places that read a token, of all that are reached without."""
        todo, seen, reading = list(begin), set[_Place](), set[_Place]()
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            state, way, stack, outside = place
            if state.kind is Kind.STOP:
                if stack is not None:
                    todo.append((stack[0], way, stack[1], outside))
                else:
                    todo += [(behind, way, None, True) for behind in self._network.behind[state.rule]]
            for label, target in state.edges:
                if isinstance(label, Call):
                    todo.append((self._network.starts[label.rule], way, (target, stack), outside))
                elif label is None:
                    todo.append((target, way, stack, outside))
                else:
                    reading.add(place)
        return frozenset(reading)
