"""Random expressions, nearly all well-typed, about random devices; from the signatures of all known functions."""

from __future__ import annotations

import random
from typing import Any

from drakit_api.cel.checking import devices
from drakit_api.cel.values import types
from drakit_api.cel.values.declarations import Overload
from drakit_api.cel.values.types import (
    BOOL,
    DYN,
    INT,
    NULL,
    QUANTITY,
    SEMVER,
    STRING,
    Type,
    list_of,
    map_of,
    optional_of,
)

DRIVER = "d.example.com"
_LITERALS = {
    "bool": ("true", "false"),
    "int": ("0", "1", "2", "3", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993"),
    "uint": ("0u", "1u", "2u", "18446744073709551615u"),
    "double": ("0.0", "1.0", "2.5", "-1.0", "1e300", 'double("NaN")', 'double("Infinity")', "9007199254740992.0"),
    "string": ('""', '"a"', '"b"', '"ab"', '"1"', '"1.0.0"', '"true"', '"é"', '"%s %d"', '"10Gi"', '"[a-b]+"', '"x/y"'),
    "bytes": ('b""', 'b"a"', 'b"\\xff"'),
    "timestamp": ('timestamp("2020-02-29T12:00:00Z")', 'timestamp("9999-12-31T23:59:59Z")', "timestamp(0)"),
    "duration": ('duration("0s")', 'duration("1h30m")', 'duration("-1.5s")', 'duration("2562047h")'),
    "null": ("null",),
    "type": ("int", "string", "type(1)", "list", "google.protobuf.Timestamp", "null_type"),
    "kubernetes.Quantity": ('quantity("1")', 'quantity("10Gi")', 'quantity("-500m")'),
    "kubernetes.Semver": ('semver("1.0.0")', 'semver("1.0.0-rc.1+x")', 'semver("v1", true)'),
    "net.IP": ('ip("10.0.0.1")', 'ip("::1")'),
    "net.CIDR": ('cidr("10.0.0.0/8")', 'cidr("10.0.0.1/24")', 'cidr("fe80::/10")'),
    "kubernetes.URL": ('url("https://a.example:80/x?y=1&y=2")', 'url("/a")'),
    "kubernetes.NamedFormat": ("format.uuid()", "format.dns1123Label()"),
}
_SCALARS = [
    *map(types.parse_type, ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")),
    *(NULL, QUANTITY, SEMVER, types.TYPE, DYN),
    *map(types.parse_type, ("IP", "CIDR", "URL", "Format")),
]
_INFIX = {f"_{sign}_": sign for sign in ("&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")}
_NAMES = ("i", "s", "b", "v", "is", "ss", "bs", "vs", "none", "missing")
_UNUSABLE = ("authorization", "@sortByAssociatedKeys")
# A list of ten million elements is slow, and asks nothing that one of three does not.
_BOUNDED = {"lists.range": "lists.range(3)"}


def device(source: random.Random) -> dict[str, Any]:
    """An entry of ``spec.devices`` with attributes of some kinds."""
    kinds = {
        "i": {"int": source.choice((0, 1, 2, -1))},
        "s": {"string": source.choice(("", "a", "ab", "1.0.0"))},
        "b": {"bool": source.random() < 0.5},
        "v": {"version": source.choice(("1.0.0", "2.0.0-rc.1"))},
        "is": {"ints": source.choice(([1], [1, 2, 3], [0, 0]))},
        "ss": {"strings": source.choice((["a"], ["a", "b"]))},
        "bs": {"bools": [True, False]},
        "vs": {"versions": ["1.0.0", "2.0.0"]},
    }
    attributes = {name: kind for name, kind in kinds.items() if source.random() < 0.8}
    capacity = {name: {"value": source.choice(("1", "10Gi", "500m"))} for name in ("i", "s") if source.random() < 0.8}
    return {"name": "d", "attributes": attributes, "capacity": capacity}


def expression(source: random.Random, depth: int = 3) -> str:
    """A selector."""
    return _Generator(source).of(BOOL, depth)


class _Generator:
    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._variables: list[tuple[str, Type]] = []
        self._overloads = [
            overload
            for name, overloads in devices.stored().functions.items()
            for overload in overloads
            if name not in _UNUSABLE and not any("authorization" in p.name for p in overload.parameters)
        ]

    def of(self, wanted: Type, depth: int) -> str:
        """An expression of a type, or one of unknown type, which fits everywhere."""
        if wanted.is_dynamic or (depth > 0 and self._random.random() < 0.1):
            return self._dynamic(depth)
        local = [name for name, kind in self._variables if kind == wanted]
        if local and self._random.random() < 0.6:
            return self._random.choice(local)
        if depth <= 0 or self._random.random() < 0.1:
            return self._literal(wanted, depth)
        if self._random.random() < 0.2:
            return self._macro(wanted, depth - 1)
        return self._call(wanted, depth - 1)

    def _dynamic(self, depth: int) -> str:
        local = [name for name, _ in self._variables]
        shape = self._random.random()
        if local and shape < 0.3:
            return self._random.choice(local)
        if shape < 0.7:
            return f"device.{self._random.choice(('attributes', 'attributes', 'capacity'))}{self._path()}"
        return f"dyn({self.of(self._type(1), depth - 1)})"

    def _path(self) -> str:
        domain, name = self._random.choice((DRIVER, DRIVER, DRIVER, "other")), self._random.choice(_NAMES)
        return f'["{domain}"].{name}' if self._random.random() < 0.9 else self._random.choice(("", f'["{domain}"]'))

    def _type(self, depth: int) -> Type:
        shape = self._random.random()
        if depth <= 0 or shape < 0.6:
            return self._random.choice(_SCALARS)
        if shape < 0.75:
            return list_of(self._type(depth - 1))
        if shape < 0.9:
            return map_of(self._random.choice((STRING, INT, BOOL, types.UINT, DYN)), self._type(depth - 1))
        return optional_of(self._type(depth - 1))

    def _literal(self, wanted: Type, depth: int) -> str:
        some = range(self._random.choice((0, 1, 1, 2, 3)))
        match wanted.name:
            case "list":
                return f"[{', '.join(self.of(wanted.parameters[0], depth - 1) for _ in some)}]"
            case "map":
                key, value = wanted.parameters
                return f"{{{', '.join(f'{self.of(key, depth - 1)}: {self.of(value, depth - 1)}' for _ in some)}}}"
            case "optional_type":
                return f"optional.of({self.of(wanted.parameters[0], depth - 1)})" if some else "optional.none()"
        return self._random.choice(_LITERALS[wanted.kind if wanted.kind in _LITERALS else wanted.name])

    def _call(self, wanted: Type, depth: int) -> str:
        fitting = [(o, found) for o in self._overloads if (found := _match(o.result, wanted, {})) is not None]
        if not fitting:
            return self._literal(wanted, depth)
        names = sorted({o.function for o, _ in fitting})
        name = self._random.choice(names)
        chosen, known = self._random.choice([one for one in fitting if one[0].function == name])
        arguments = [self.of(self._filled(parameter, known), depth) for parameter in chosen.parameters]
        return _BOUNDED.get(name) or _written(chosen, arguments)

    def _filled(self, t: Type, known: dict[str, Type]) -> Type:
        if t.kind == "parameter":
            return known.setdefault(t.name, self._type(1))
        return Type(t.kind, t.name, tuple(self._filled(parameter, known) for parameter in t.parameters))

    def _macro(self, wanted: Type, depth: int) -> str:
        if wanted.name == "bool" and self._random.random() < 0.2:
            return f"has(device.attributes{self._path()}.x)"
        if wanted.name in ("bool", "list", "map"):
            return self._walk(wanted, depth)
        name, bound = self._variable(self._type(1))
        while bound == types.TYPE:  # upstream fails to plan that
            name, bound = self._variable(self._type(1))
        value = self.of(bound, depth)
        body = self._scoped([(name, bound)], wanted, depth)
        return f"cel.bind({name}, {value}, {body})"

    def _walk(self, wanted: Type, depth: int) -> str:
        element = wanted.parameters[0] if wanted.name == "list" else self._type(0)
        variables = [self._variable(element)]
        container = list_of(element)
        if wanted.name == "map" or self._random.random() < 0.3:
            variables.insert(0, self._variable(INT, 1))
        target = f"({self.of(container, depth)})"
        names = ", ".join(name for name, _ in variables)
        condition = self._scoped(variables, BOOL, depth)
        return f"{target}.{self._step(wanted, variables, names, condition, depth)}"

    def _step(self, wanted: Type, variables: list[tuple[str, Type]], names: str, condition: str, depth: int) -> str:
        if wanted.name == "bool":
            return f"{self._random.choice(('all', 'exists', 'exists_one'))}({names}, {condition})"
        if wanted.name == "map":
            value = self._scoped(variables, wanted.parameters[1], depth)
            key = self._scoped(variables, wanted.parameters[0], depth)
            plain = f"transformMap({names}, {value})"
            return plain if self._random.random() < 0.3 else f"transformMapEntry({names}, {{{key}: {value}}})"
        if len(variables) == 2:
            return f"transformList({names}, {condition}, {self._scoped(variables, wanted.parameters[0], depth)})"
        if self._random.random() < 0.4:
            return f"filter({names}, {condition})"
        mapped = self._scoped(variables, wanted.parameters[0], depth)
        return f"map({names}, {mapped})" if self._random.random() < 0.7 else f"map({names}, {condition}, {mapped})"

    def _variable(self, t: Type, offset: int = 0) -> tuple[str, Type]:
        return f"x{len(self._variables) + offset}", t

    def _scoped(self, variables: list[tuple[str, Type]], wanted: Type, depth: int) -> str:
        self._variables += variables
        result = self.of(wanted, depth)
        del self._variables[-len(variables) :]
        return result


def _match(pattern: Type, wanted: Type, known: dict[str, Type]) -> dict[str, Type] | None:
    """What type variables stand for where a result of type ``pattern`` is of the type that is wanted."""
    if pattern.kind == "parameter":
        return known if known.setdefault(pattern.name, wanted) == wanted else None
    if (pattern.kind, pattern.name, len(pattern.parameters)) != (wanted.kind, wanted.name, len(wanted.parameters)):
        return None
    for one, other in zip(pattern.parameters, wanted.parameters, strict=True):
        if _match(one, other, known) is None:
            return None
    return known


def _written(overload: Overload, arguments: list[str]) -> str:
    name = overload.function
    if name in _INFIX:
        return f"({arguments[0]} {_INFIX[name]} {arguments[1]})"
    match name:
        case "@in":
            return f"({arguments[0]} in {arguments[1]})"
        case "_?_:_":
            return f"({arguments[0]} ? {arguments[1]} : {arguments[2]})"
        case "!_" | "-_":
            return f"{name[0]}({arguments[0]})"
        case "_[_]" | "_[?_]":
            return f"({arguments[0]})[{'?' if '?' in name else ''}{arguments[1]}]"
    if overload.member:
        return f"({arguments[0]}).{name}({', '.join(arguments[1:])})"
    return f"{name}({', '.join(arguments)})"
