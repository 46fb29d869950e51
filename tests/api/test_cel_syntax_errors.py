"""The words of syntax errors are those of cel-go v0.29.2, whose parser said what is expected here."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from drakit_api.cel.errors import CelCompileError
from drakit_api.cel.syntax import recursion
from drakit_api.cel.syntax.parser import parse

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
NO_TOKEN = "Syntax error: token recognition error at:"
CASES = {
    "! ! ?!true": [
        f"1:5: Syntax error: extraneous input '?' expecting {OPERAND}",
        "1:11: Syntax error: mismatched input '<EOF>' expecting ':'",
    ],
    "device.`a}`": [
        f"1:8: {NO_TOKEN} '`a}}'",
        f"1:11: {NO_TOKEN} '`'",
        "1:12: Syntax error: no viable alternative at input '.'",
    ],
    "`a}": [f"1:1: {NO_TOKEN} '`a}}'", f"1:4: Syntax error: mismatched input '<EOF>' expecting {OPERAND}"],
    '[1] == "a\n"': [
        f"1:8: {NO_TOKEN} '\"a\n'",
        f"2:1: {NO_TOKEN} '\"'",
        f"2:2: Syntax error: mismatched input '<EOF>' expecting {OPERAND}",
    ],
}


@pytest.mark.parametrize(("expression", "complaints"), CASES.items(), ids=CASES)
def test_all_that_is_wrong_is_said(expression: str, complaints: list[str]) -> None:
    with pytest.raises(CelCompileError) as caught:
        parse(expression)
    found = str(caught.value).split("ERROR: <input>:")[1:]
    assert [complaint.split("\n | ")[0].rstrip("\n") for complaint in found] == complaints


def test_brackets_that_stay_open_nearly_as_deep_as_they_may() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(CelCompileError, match="1:241: Syntax error: mismatched input '<EOF>' expecting"):
        parse("(" * 240)
    assert sys.getrecursionlimit() == limit


def test_no_thread_waits_for_another_that_is_deep_in_calls() -> None:
    limit, inside, go_on = sys.getrecursionlimit(), threading.Event(), threading.Event()

    def deep_in_calls() -> None:
        with recursion.deeper(100):
            inside.set()
            assert go_on.wait(10)

    other = threading.Thread(target=deep_in_calls)
    other.start()
    assert inside.wait(10)
    with recursion.deeper(1000):
        go_on.set()
        other.join()
        assert sys.getrecursionlimit() == limit + 1000
    assert sys.getrecursionlimit() == limit


def test_too_many_tokens_that_nothing_can_be_made_of() -> None:
    with pytest.raises(CelCompileError, match="-1:0: error recovery token lookahead limit exceeded: 256"):
        parse("a b " * 300)


@pytest.mark.slow
def test_what_words_errors_is_loaded_only_for_an_error() -> None:
    program = (
        "import sys; from drakit_api.cel.syntax.parser import parse; parse('1 + 1'); sys.exit('antlr4' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("expression", ['x["a"]index < 4', "{} innull", "1 in2"])
def test_in_is_a_word_of_its_own(expression: str) -> None:
    with pytest.raises(CelCompileError, match="Syntax error"):
        parse(expression)


def test_in_needs_no_space_before_a_bracket() -> None:
    parse("1 in[1]")
