"""Expressions that make something large, or walk through something nested, from a few hundred bytes."""

from __future__ import annotations

import random
import re

DRIVER = "d.example.com"
_SEEDS = {
    "string": ("'aaaaaaaa'", "'\\u00e9\\U0001F600'", "''", f"device.attributes['{DRIVER}'].s"),
    "strings": ("['a', 'b']", "['']", f"[device.attributes['{DRIVER}'].s]"),
    "nested": ("[1]", "[[1], [2]]", "{'a': 1}"),
}
# From the type of the variable x to that of the next one.
_STEPS = {
    "string": (
        ("string", ("x + x", "x.replace('', x)", "x.replace('a', x)", "[x, x, x].join(x)", "strings.quote(x)")),
        ("string", ("'%s%s'.format([x, x])", "'%x'.format([x])", "string(bytes(x)) + x", "x.find('.*') + x")),
        ("strings", ("[x, x]", "x.split('')", "x.findAll('.')", "x.findAll('a*b|a')", "lists.range(99).map(i, x)")),
    ),
    "strings": (
        ("string", ("x.join()", "x.join(x[0])", "'%s'.format([x])")),
        ("strings", ("x + x", "x.map(s, s + s)", "x.map(s, [s, s]).flatten()", "x.reverse() + x", "x.filter(s, true)")),
        ("nested", ("dyn([x, x])", "dyn(x.map(s, x))")),
    ),
    "nested": (
        ("nested", ("[x, x]", "dyn({'a': x, 'b': x})", "dyn([dyn(x), dyn(x)].flatten())", "[dyn(x)] + [dyn(x)]")),
        ("string", ("'%s'.format([x])",)),
    ),
}
_ENDS = {
    "string": ("x.size() > 0", "x == x + ''", "isURL(x)", "x.matches('(a|b)+c')", "x.contains('b')", "int(x) == 1"),
    "strings": ("x == x", "x.size() > 0", "x.isSorted()", "x.all(s, s != 'z')", "x.distinct().size() > 0", "'z' in x"),
    "nested": ("x == x", "dyn(x) in [dyn(x)]", "'%s'.format([x]) == ''", "[dyn(x)].indexOf(dyn(x)) == 0"),
}


def growing(source: random.Random) -> str:
    """An expression of one to thirty steps, of which each takes the last one's result more than once."""
    kind = source.choice(list(_SEEDS))
    bindings = [source.choice(_SEEDS[kind])]
    chosen = None
    for number in range(source.randint(1, 30)):
        if chosen is None or source.random() < 0.3:
            following, ways = source.choice(_STEPS[kind])
            chosen = source.choice(ways)
        bindings.append(_of(chosen, number))
        chosen, kind = (chosen if following == kind else None), following
    expression = _of(source.choice(_ENDS[kind]), len(bindings) - 1)
    for number in reversed(range(len(bindings))):
        expression = f"cel.bind(x{number}, {bindings[number]}, {expression})"
    return expression


def doubled(seed: str, times: int, end: str, step: str = "x + x") -> str:
    """``end`` of what is left of ``seed`` after the step, so many times; each names what it takes ``x``."""
    expression = _of(end, times)
    for number in range(times, 0, -1):
        expression = f"cel.bind(x{number}, {_of(step, number - 1)}, {expression})"
    return f"cel.bind(x0, {seed}, {expression})"


def _of(template: str, number: int) -> str:
    """A template about the variable of that number."""
    return re.sub(r"\bx\b", f"x{number}", template)
