"""No expression takes much memory or time: neither where the API server checks it nor where a scheduler evaluates it.

What is tried here took gigabytes or minutes, or ended in an exception that is nobody's answer. It is tried in a process
of its own that may have 300 MiB more than it begins with.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from drakit_api import cel
from drakit_api.cel.checking import devices
from drakit_api.cel.checking.checker import check
from drakit_api.cel.cost.metered import compile_metered
from drakit_api.cel.device import LAYOUT, DeviceView
from drakit_api.cel.evaluation.closures import compile_tree
from drakit_api.cel.expression import Expression
from drakit_api.cel.footprint import Footprint
from drakit_api.cel.syntax.parser import parse
from e2e.attacks.growing import DRIVER, doubled, growing
from tests.api import random_expressions

pytestmark = pytest.mark.slow

MEMORY = 300 * 2**20
CPU_SECONDS = 20  # of one expression; most take less than one
CHILD = f"""
import json, resource, sys
from drakit_api import cel
from drakit_api.cel import compiler

def answer(function, *arguments):
    try:
        return {{"value": function(*arguments)}}
    except cel.CelError as error:
        return {{"error": str(error)}}

device = cel.device_view("{DRIVER}", {{"name": "d", "attributes": {{"s": {{"string": "a" * 64}}}}}})
answer(lambda: cel.compile_selector("'a'.matches('b')").matches(device))
with open("/proc/self/statm") as sizes:
    begun = int(sizes.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (begun + {MEMORY}, begun + {MEMORY}))
for line in sys.stdin:
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent) + {CPU_SECONDS}, -1))
    expression = json.loads(line)
    found = {{"check": answer(cel.check_selector, expression)}}
    if "error" not in found["check"]:
        found["evaluate"] = answer(lambda: cel.compile_selector(expression).matches(device))
    print(json.dumps(found), flush=True)
"""
CANCELLED = {"error": "operation cancelled: actual cost limit exceeded"}
TOO_DEEP = "max recursion depth exceeded"
TRUE, FALSE = {"value": True}, {"value": False}
_STOPPED = re.compile("operation cancelled|internal error")
TEXT = "'" + "a" * 60 + "'"
ATTRIBUTE = f"device.attributes['{DRIVER}'].s"

EVALUATED: dict[str, tuple[str, Any]] = {
    "replace, folded": ("'a'" + ".replace('', 'aaaaaaaaaa')" * 11 + ".size() > 0", CANCELLED),
    "replace of an attribute by itself": (doubled(ATTRIBUTE, 4, "x.size() > 0", "x.replace('a', x)"), CANCELLED),
    "strings of four bytes a character": (doubled("'\\U0001F600'", 18, "x.replace('', x) == ''"), CANCELLED),
    "a doubled list is no larger": (doubled("[1, 2, 3, 4]", 30, "x.size() == 4294967296 && x[4294967295] == 4"), TRUE),
    "a doubled list, walked": (doubled("[1]", 40, "x.all(i, i == 1)"), CANCELLED),
    "a doubled list, searched": (doubled("[1]", 40, "2 in x"), CANCELLED),
    "a doubled list, compared": (doubled("[1]", 40, "x == x"), CANCELLED),
    "a doubled list, reversed": (doubled("['']", 40, "x.reverse().size() > 0"), CANCELLED),
    "a doubled list, joined": (doubled("['']", 40, "x.join() == ''"), CANCELLED),
    "a doubled list, summed up": (doubled("[1]", 40, "x.sum() > 0"), CANCELLED),
    "a doubled list, sliced": (doubled("[1]", 40, "x.slice(1, 3) == [1, 1]"), TRUE),
    "more elements than an int counts": (doubled("[1]", 64, "x.size() > 0"), {"error": "integer overflow"}),
    "flatten, of which upstream underestimates the cost": (
        doubled("[[1]]", 20, "[x].flatten(3).all(i, true)"),
        CANCELLED,
    ),
    "a range, folded": ("lists.range(10000000).size() > 0", CANCELLED),
    "wide lists at the price of narrow ones": (f"lists.range(9000).map(x, [x{', 1' * 2000}]).size() > 0", CANCELLED),
    "nested lists, compared": (doubled("[1]", 30, "x == x", "[x, x]"), CANCELLED),
    "nested maps, compared": (doubled("{'a': 1}", 30, "x == x", "{'a': x, 'b': x}"), CANCELLED),
    "nested lists, formatted": (doubled("[1]", 30, "'%s'.format([x]) == ''", "[x, x]"), CANCELLED),
    "nested lists, searched": (doubled("[1]", 30, "x in [x, x]", "[x, x]"), CANCELLED),
    "nested lists in an error": (doubled("[1]", 30, "[?dyn(x)] == []", "[x, x]"), CANCELLED),
    "lists nested by thousands": (
        doubled("[1]", 235, "x == x", "[[[[[[[dyn(x)]]]]]]]"),
        {"error": "operation cancelled: values nest too deep"},
    ),
    "format of many places": (f"'{'%.30000f' * 300}'.format([{'1.0, ' * 299}1.0]).size() > 0", TRUE),
    "format of the same": (doubled(TEXT, 12, f"'{'%s' * 300}'.format([{'x, ' * 299}x]).size() > 0"), CANCELLED),
    "findAll": (doubled(TEXT, 14, "x.findAll('a').size() > 0"), CANCELLED),
    "findAll that looks at all each time": (doubled(TEXT, 12, "x.findAll('a*b|a').size() > 0"), CANCELLED),
    "patterns that are made": ("lists.range(900).all(i, !''.matches('\\\\pL{9}' + string(i)))", CANCELLED),
    "texts read at the price of one": (doubled("'1'", 19, "lists.range(5000).all(i, int(x) == 1 || true)"), CANCELLED),
    "a time zone of many digits": (
        f"timestamp(0).getHours('{'9' * 5000}:99') == 1",
        {"error": f"time zone {'9' * 5000}:99 is a day or more from UTC"},
    ),
    "a moment before the first year": (
        "timestamp('0001-01-01T00:00:00Z').getHours('-12:00') == 1",
        {"error": "timestamp overflow"},
    ),
}
REFUSED = {
    "optMap, which copies what is before it": (
        "optional.of(1)" + ".optMap(a, a)" * 40 + ".hasValue()",
        "too large after",
    ),
    "patterns with long programs": (
        " || ".join(f"''.matches('\\\\pL{{{i % 15 + 2}}}{i}')" for i in range(300)),
        "regular expressions and constants take more memory",
    ),
}


def answers(expressions: list[str]) -> Iterator[dict[str, Any]]:
    """What the process of its own says of each."""
    lines = "".join(json.dumps(expression) + "\n" for expression in expressions)
    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(expressions), f"it ended at {expressions[len(found)]}\n{done.stderr[-2000:]}"
    yield from found


@pytest.fixture(scope="module")
def evaluated() -> dict[str, dict[str, Any]]:
    return dict(zip(EVALUATED, answers([expression for expression, _ in EVALUATED.values()]), strict=True))


@pytest.mark.xdist_group("cel-budget")
@pytest.mark.parametrize("name", EVALUATED)
def test_what_grows_is_cancelled_before_it_has_grown(name: str, evaluated: dict[str, dict[str, Any]]) -> None:
    assert evaluated[name]["evaluate"] == EVALUATED[name][1]


def test_what_grows_while_it_is_compiled_is_refused() -> None:
    for (name, (_, words)), answer in zip(
        REFUSED.items(), answers([expression for expression, _ in REFUSED.values()]), strict=True
    ):
        assert words in answer["check"].get("error", ""), name


def test_types_that_nest_deeply_are_compiled_or_refused() -> None:
    """How deep Python goes to compare them differs from version to version; 3.11 refuses these."""
    (answer,) = answers([doubled("[1]", 200, "x.size() > 0", "[x, x]")])
    assert TOO_DEEP in answer["check"].get("error", TOO_DEEP)
    assert answer["check"].keys() & {"error", "value"}


def test_whatever_grows_by_chance_gets_an_answer() -> None:
    source = random.Random(23)
    expressions = [growing(source) for _ in range(40)]
    found = [answer.get("evaluate", answer["check"]) for answer in answers(expressions)]
    assert sum(answer == CANCELLED for answer in found) > 5
    assert sum("value" in answer for answer in found) > 5


def test_counting_changes_nothing_but_what_it_stops() -> None:
    """Both compilers are asked about random expressions; they are the same but for counting.

    Who counts also evaluates what is behind a failure, as upstream does, and may find what panics there.
    """
    source = random.Random(24)
    differing = []
    for _ in range(800):
        expression, device = random_expressions.expression(source), random_expressions.device(source)
        view = cel.device_view(random_expressions.DRIVER, device)
        found = [_answer(expression, view, metered) for metered in (False, True)]
        if found[0] != found[1] and not any(_STOPPED.search(answer) for answer in found):
            differing.append((expression, *found))
    assert not differing


def _answer(expression: str, view: DeviceView, metered: bool) -> str:
    try:
        tree = parse(expression)
        check(expression, tree, devices.stored())
        planned = compile_metered(tree, LAYOUT) if metered else compile_tree(tree, LAYOUT)
        return cel.Selector.matches(Expression(expression, *planned, Footprint()), view).__repr__()  # type: ignore[arg-type]
    except cel.CelError as error:
        return str(error)
