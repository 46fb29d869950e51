"""The kept tables of the CEL parser are those of its grammar, and are not used for any other."""

from __future__ import annotations

import json

import lark
import pytest

from drakit_api.cel.syntax import grammar, parser

EXPRESSIONS = [
    "device.driver == 'a' && device.attributes['b'].c > 1 || !x",
    "[1, 2u, 3.0].all(i, i < {'a': b'c'}.?d.orValue(4) ? -i : i in [5])",
]


@pytest.mark.slow
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_kept_tables_parse_as_the_grammar_does(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = repr(grammar.parser(parser._Builder()).parse(expression))
    monkeypatch.setattr(lark, "__version__", "of another kind")
    assert kept == repr(grammar.parser(parser._Builder()).parse(expression))


@pytest.mark.slow
def test_kept_tables_are_of_this_grammar() -> None:
    """After a change of grammar.lark: ``python -m drakit_api.cel.syntax.grammar``."""
    kept = json.loads(grammar.TABLES.read_text(encoding="utf-8"))
    assert kept["made of"][1] == json.loads(grammar.tables())["made of"][1]


def test_tables_of_another_lark_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []
    monkeypatch.setattr(grammar, "_built", built.append)
    monkeypatch.setattr(lark, "__version__", "of another kind")
    grammar.parser(parser._Builder())
    assert built
