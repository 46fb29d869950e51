"""Answers in YAML: a list is written in pieces, which nobody can tell from the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from drakit_embedded.apiserver.wire import yaml_answers

ITEM = {"metadata": {"name": "a", "labels": {"b": "1e3", "y": "two\nlines\n"}}, "data": {}, "spec": {"x": [1, [2], {}]}}
LONG = "word " * 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        {"kind": "List", "apiVersion": "v1", "items": [ITEM] * 100, "metadata": {"resourceVersion": "1"}},
        {"items": [LONG, None, [1, 2], [], "-", "# no comment", 1.5] * 20},
        {"items": [], "y": ["a"], "it's: a key": [{}], "é": [["nested"]]},
        {"items": None, "a": {"items": [ITEM, LONG]}},
        {},
        [ITEM, 1],
        "text",
    ],
)
def test_the_pieces_of_an_answer_are_the_whole(value: Any) -> None:
    encoded = json.dumps(value).encode()
    text = yaml_answers.write(encoded)
    assert text == yaml_answers._dumped(json.loads(encoded))
    assert yaml.safe_load(text) == value


def test_no_piece_of_a_list_has_more_than_a_few_items() -> None:
    items = [{"metadata": {"name": f"item-{number}"}} for number in range(1000)]
    found = list(yaml_answers.pieces(json.dumps({"kind": "List", "items": items}).encode()))
    assert max(piece.count(b"item-") for piece in found) <= 32
    assert sum(piece.count(b"item-") for piece in found) == len(items)
