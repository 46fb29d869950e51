"""Damage to expressions in CEL: a token of it that is wrong, or a whole that hardly anybody would write."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|[<>=!]=|&&|\|\||\s+|.', re.DOTALL
)
_TOKENS = (
    *(
        "self",
        "oldSelf",
        "object",
        "oldObject",
        "request",
        "params",
        "variables",
        "namespaceObject",
        "authorizer",
        "x",
        "has",
    ),
    *(
        "true",
        "false",
        "null",
        "0",
        "-1",
        "1u",
        "1.5",
        "9223372036854775808",
        "0x1F",
        "1e400",
        "''",
        '"a"',
        "b'a'",
        "r'\\'",
        "'''a'''",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "?",
        ":",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "<",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
        "in",
        "=",
        ";",
    ),
    *(
        "size",
        "all",
        "exists",
        "exists_one",
        "map",
        "filter",
        "dyn",
        "int",
        "string",
        "matches",
        "contains",
        "split",
        "type",
        "optional",
    ),
    *(
        "cel.bind",
        "quantity",
        "url",
        "ip",
        "cidr",
        "duration",
        "timestamp",
        "format",
        "semver",
        "sets.contains",
        "reverse",
        "join",
        "lists",
    ),
    *(
        ".?",
        "[?",
        "@",
        "$",
        "`a`",
        "\\",
        "//",
        "\n",
        "é",
        "\u2028",
        "\x00",
        "𝔘",
        "__a__",
        "as",
        "import",
        "loop",
        "namespace",
        "package",
    ),
)
# Each is a boolean, more or less.
_WHOLES = (
    *(
        "true",
        "false",
        "",
        " ",
        "1",
        "null",
        "self",
        "object",
        "self.a",
        "object.spec",
        "variables.a",
        "params == null",
        "oldSelf == self",
    ),
    *(
        "[1,2,3].all(x, x > 0)",
        "self.all(x, self.all(y, x == y))",
        "[[1]].exists(x, x.exists(x, x == 1))",
        "has(self)",
        "has(self.a.b)",
    ),
    *(
        "1 / 0 > 0",
        "9223372036854775807 + 1 > 0",
        "-9223372036854775808 < 0",
        "1u - 2u > 0u",
        "0.0 / 0.0 == 0.0",
        "int('x') == 1",
    ),
    *(
        "'a'.matches('(')",
        "'a'.matches('(a|a)*b')",
        "'é'.size() == 1",
        "'\\ud800' == ''",
        "'%s'.format([1]) == '1'",
        "'%z'.format([1]) == ''",
    ),
    *(
        "timestamp('x') == timestamp('y')",
        "duration('1h') > duration('x')",
        "url('x') == url('y')",
        "quantity('x') == quantity('1')",
    ),
    *(
        "dyn(1) == 'a'",
        "[1, 'a', null] == []",
        "{'a': 1, 'a': 2}.size() == 1",
        "{1: 2}[3] == 4",
        "optional.none().value() == 1",
        "type(1) == int",
    ),
    *(
        "string(self).size() > 0",
        "self.?a.orValue(1) == 1",
        "cel.bind(x, 1, x == 1)",
        "cel.bind(x, x, true)",
        "object.a.b.c.d.e.f.g == 1",
    ),
    *(
        "lists.range(1000000).size() == 1",
        "'a'.replace('', 'b', -1) == 'b'",
        "'a'.substring(9) == ''",
        "'a,b'.split(',', -5) == []",
    ),
    *(
        "authorizer.group('').resource('pods').check('get').allowed()",
        "request.userInfo.username == ''",
        "request.x == 1",
        "namespaceObject.x == 1",
    ),
    *(
        "Object{} == Object{}",
        "Object{spec: 1} == null",
        "[JSONPatch{}] == []",
        "JSONPatch{op: 'x'}.op == 'x'",
        "jsonpatch.escapeKey('~/') == ''",
    ),
)


def damaged(expression: str, chance: Random) -> str:
    """Damage an expression."""
    kind = chance.random()
    if kind < 0.15:
        return chance.choice(_WHOLES)
    if kind < 0.25:
        return _wrapped(expression, chance)
    tokens = _TOKEN.findall(expression)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        _damage(tokens, chance)
    return "".join(tokens)


def _damage(tokens: list[str], chance: Random) -> None:
    if not tokens:
        tokens.append(chance.choice(_TOKENS))
        return
    place, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    match chance.randrange(6):
        case 0:
            del tokens[place]
        case 1:
            tokens.insert(place, tokens[place])
        case 2:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 3:
            tokens.insert(place, chance.choice(_TOKENS))
        case _:
            tokens[place] = chance.choice(_TOKENS)


def _wrapped(expression: str, chance: Random) -> str:
    """Make of an expression one that is deep, long, or has something else around it."""
    depth = chance.choice((2, 20, 60, 250, 1000))
    ways = (
        "(" * depth + expression + ")" * depth,
        "!" * depth + f"({expression})",
        "-" * depth + "1 == 1",
        " && ".join([f"({expression})"] * depth),
        " + ".join(["1"] * depth) + " > 0",
        "[" * depth + "]" * depth + " == []",
        "true ? " * depth + expression + " : false" * depth,
        expression + " // " + "x" * depth,
        f"'{'x' * depth * 20}' == ''",
        f"cel.bind(y, ({expression}), y || !y)",
        f"[{expression}].all(z, z)",
        f"({expression}) == dyn({expression})",
        expression + "." + "a." * depth + "b",
    )
    return chance.choice(ways)
