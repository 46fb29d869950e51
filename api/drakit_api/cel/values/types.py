"""The types that the checker reasons about, and how they unify.

cel-go checks an expression before it ever runs, so that ``device.capacity["d"].memory > 1`` is refused at admission and
not on the first node. The rules of assignability and substitution are those of cel-go v0.29 ``checker/types.go``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A CEL type. ``kind`` decides how it unifies; ``name`` is how cel-go declares it.

    Types of nested lists are as deep as these. They compare without recursion, and only their top is hashed.
    """

    kind: str
    name: str
    parameters: tuple[Type, ...] = ()

    def __eq__(self, other: object) -> bool:
        pending = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if not isinstance(right, Type) or (left.kind, left.name) != (right.kind, right.name):
                return False
            if len(left.parameters) != len(right.parameters):
                return False
            pending += zip(left.parameters, right.parameters, strict=True)
        return True

    def __hash__(self) -> int:
        return hash((self.kind, self.name, len(self.parameters)))

    def __str__(self) -> str:
        """Print the type as cel-go does in its error messages."""
        name = _DISPLAYED.get(self.kind, self.name)
        return f"{name}({', '.join(map(str, self.parameters))})" if self.parameters else name

    @property
    def declared(self) -> str:
        """As Kubernetes prints the result type of an expression, with the protobuf names."""
        shown = ", ".join(parameter.declared for parameter in self.parameters)
        return f"{self.name}({shown})" if shown else self.name

    @property
    def is_dynamic(self) -> bool:
        """Whether only the value at run time tells the type."""
        return self.kind in ("dyn", "any")


_DISPLAYED = {"any": "any", "duration": "duration", "timestamp": "timestamp", "null": "null", "error": "!error!"}

BOOL, INT, UINT, DOUBLE = Type("bool", "bool"), Type("int", "int"), Type("uint", "uint"), Type("double", "double")
STRING, BYTES, NULL = Type("string", "string"), Type("bytes", "bytes"), Type("null", "null_type")
TIMESTAMP, DURATION = Type("timestamp", "google.protobuf.Timestamp"), Type("duration", "google.protobuf.Duration")
TYPE = Type("type", "type")
DYN, ANY, ERROR = Type("dyn", "dyn"), Type("any", "google.protobuf.Any"), Type("error", "*error*")
QUANTITY, SEMVER = Type("struct", "kubernetes.Quantity"), Type("struct", "kubernetes.Semver")
# The type of a field that there is not, which nothing is assignable to.
NOTHING = Type("nothing", "")

_BY_NAME = {
    **{t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, DYN)},
    "null": NULL,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "Quantity": QUANTITY,
    "Semver": SEMVER,
    "IP": Type("opaque", "net.IP"),
    "CIDR": Type("opaque", "net.CIDR"),
    "URL": Type("struct", "kubernetes.URL"),
    "Format": Type("struct", "kubernetes.NamedFormat"),
    **{
        name: Type("struct", f"kubernetes.authorization.{name}")
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    },
}
_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})


def list_of(element: Type) -> Type:
    """Make ``list(element)``."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Make ``map(key, value)``."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """Make ``optional_type(value)``."""
    return Type("opaque", "optional_type", (value,))


def struct(name: str) -> Type:
    """Make the type of objects whose fields are known by the name of the type."""
    return Type("struct", name)


def type_of(value: Type) -> Type:
    """Make the type of a type, as ``type(x)`` has it."""
    return Type("type", "type", (value,))


def parameter(name: str) -> Type:
    """Make a type variable."""
    return Type("parameter", name)


def is_optional(t: Type) -> bool:
    """Tell whether this is ``optional_type(...)``."""
    return t.kind == "opaque" and t.name == "optional_type"


_TOKEN = re.compile(r"\s*([A-Za-z]+|[<>,])")


def parse_type(text: str) -> Type:
    """Read a type as the library tables write it: ``map<string, list<A>>``; one capital letter is a type variable."""
    tokens = _TOKEN.findall(text)
    result = _parse(tokens)
    assert not tokens, text
    return result


def _parse(tokens: list[str]) -> Type:
    name, parameters = tokens.pop(0), []
    if tokens and tokens[0] == "<":
        while tokens.pop(0) in "<,":
            parameters.append(_parse(tokens))
    match name:
        case "list":
            return list_of(*parameters)
        case "map":
            return map_of(*parameters)
        case "optional":
            return optional_of(*parameters)
        case "type":
            return type_of(*parameters)
    return parameter(name) if len(name) == 1 else _BY_NAME[name]


class Substitution:
    """What is known so far about the type variables of one expression."""

    def __init__(self) -> None:
        self._known: dict[Type, Type] = {}
        self._fresh = 0

    def fresh(self) -> Type:
        """Make a type variable that nothing else uses."""
        self._fresh += 1
        return parameter(f"_var{self._fresh - 1}")

    def instantiate(self, types: Iterable[Type]) -> list[Type]:
        """Replace the type variables of one declaration by fresh ones."""
        renamed: dict[Type, Type] = {}
        return [self._rename(t, renamed) for t in types]

    def _rename(self, t: Type, renamed: dict[Type, Type]) -> Type:
        if t.kind == "parameter":
            if t not in renamed:
                renamed[t] = self.fresh()
            return renamed[t]
        if not t.parameters:
            return t
        return Type(t.kind, t.name, tuple(self._rename(p, renamed) for p in t.parameters))

    def apply(self, t: Type, *, unknown_is_dyn: bool = False) -> Type:
        """Replace the type variables in a type by what is known about them."""
        while t.kind == "parameter" and (known := self._known.get(t)) is not None:
            t = known
        if t.kind == "parameter":
            return DYN if unknown_is_dyn else t
        if not t.parameters:
            return t
        filled = tuple([self.apply(p, unknown_is_dyn=unknown_is_dyn) for p in t.parameters])
        return t if all(map(operator.is_, filled, t.parameters)) else Type(t.kind, t.name, filled)

    def final(self, types: Iterable[Type]) -> list[Type]:
        """Fill in all types, once no more is found out; what several of them consist of is filled in once."""
        done: dict[int, Type] = {}

        def fill(t: Type) -> Type:
            if (found := done.get(id(t))) is None:
                while t.kind == "parameter" and (known := self._known.get(t)) is not None:
                    t = known
                done[id(t)] = found = DYN if t.kind == "parameter" else t
                if t.parameters:
                    done[id(t)] = found = Type(t.kind, t.name, tuple([fill(p) for p in t.parameters]))
            return found

        return [fill(t) for t in types]

    def assignable(self, sources: Iterable[Type], targets: Iterable[Type]) -> bool:
        """Tell whether each source can stand for its target; what that says about variables is kept only if all can."""
        before = dict(self._known)
        pairs = list(zip(sources, targets, strict=False))
        if all(self._assignable(source, target) for source, target in pairs):
            return True
        self._known = before
        return False

    def _assignable(self, source: Type, target: Type) -> bool:
        if target.kind == "parameter":
            valid, known = self._bind(source, target)
            if valid or known:
                return valid
        if source.kind == "parameter":
            return self._bind(target, source)[0]
        if source.is_dynamic or target.is_dynamic or source.kind == "error" or target.kind == "error":
            return True
        if "null" in (source.kind, target.kind):
            other = target if source.kind == "null" else source
            return other.kind == "null" or other.kind in _NULLABLE
        if source.kind == "type":
            return target.kind == "type"
        if source.kind != target.kind or source.name != target.name:
            return False
        if len(source.parameters) != len(target.parameters):
            return False
        return all(self._assignable(s, t) for s, t in zip(source.parameters, target.parameters, strict=True))

    def _bind(self, value: Type, variable: Type) -> tuple[bool, bool]:
        """Try ``variable := value``: (whether it holds, whether the variable was known before)."""
        if value == variable:
            return True, True
        known = self._known.get(variable)
        if known is not None:
            if value == known:
                return True, True
            if not self._assignable(value, known):
                return False, True
            general = most_general(value, known)
            if self._absent(variable, general):
                self._known[variable] = general
            return True, True
        if self._absent(variable, value):
            self._known[variable] = value
            return True, False
        return False, False

    def _absent(self, variable: Type, within: Type) -> bool:
        """Tell whether a variable does not occur within a type (the occurs check): no type may contain itself."""
        if within == variable:
            return False
        if within.kind == "parameter":
            known = self._known.get(within)
            return known is None or self._absent(variable, known)
        return all(self._absent(variable, p) for p in within.parameters)


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that unify."""
    return first if _less_specific(first, second) else second


def _less_specific(first: Type, second: Type) -> bool:
    if first.is_dynamic or first.kind == "parameter":
        return True
    if second.is_dynamic or second.kind == "parameter" or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.name != second.name or len(first.parameters) != len(second.parameters):
        return False
    return all(_less_specific(f, s) for f, s in zip(first.parameters, second.parameters, strict=True))
