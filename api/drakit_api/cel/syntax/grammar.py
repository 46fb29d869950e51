"""The parser of CEL: made from ``grammar.lark``, or from tables that lark made of it before.

Making the tables takes a tenth of a second, as long as starting an API server does, so they are kept in
``grammar.json``; ``python -m drakit_api.cel.syntax.grammar`` writes them anew. Tables of another grammar or of another
version of lark are not used.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Transformer
from lark.grammar import Rule
from lark.lexer import TerminalDef

_GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES = Path(__file__).with_name("grammar.json")


def parser(transformer: Transformer[Any, Any]) -> Lark:
    """Make a parser that calls the transformer on each reduction."""
    kept = json.loads(TABLES.read_text(encoding="utf-8"), object_hook=_with_numbers)
    if kept["made of"] != _origin():
        return _built(transformer)
    # The function with which lark loads its stand-alone parsers; it has no types.
    loaded: Lark = Lark._load_from_dict(kept["data"], kept["memo"], transformer=transformer)  # type: ignore[no-untyped-call]
    return loaded


def tables() -> str:
    """Return the text that ``grammar.json`` must have for this grammar and this version of lark."""
    data, memo = _built(None).memo_serialize([TerminalDef, Rule])
    del data["options"]["transformer"]
    return json.dumps({"made of": _origin(), "data": data, "memo": memo}, separators=(",", ":")) + "\n"


def _built(transformer: Transformer[Any, Any] | None) -> Lark:
    return Lark(
        _GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        start="expr",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=transformer,
    )


def _origin() -> list[str]:
    return [lark.__version__, hashlib.sha256(_GRAMMAR.read_bytes()).hexdigest()]


def _with_numbers(obj: dict[str, Any]) -> dict[str | int, Any]:
    """Turn digits that are keys into numbers: JSON has no numbers as keys, and lark's tables no digits as names."""
    return {int(key) if key.isdigit() else key: value for key, value in obj.items()}


if __name__ == "__main__":
    TABLES.write_text(tables(), encoding="utf-8")
