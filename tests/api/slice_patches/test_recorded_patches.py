"""What is said of patches in files, compared with what a real API server answered to the same patches."""

from __future__ import annotations

import pytest

from drakit_api.slice_patches.definition import faults
from tests.vectors import slice_patches
from tests.vectors.stories.playing import families

_UNPROCESSABLE = 422


_RULES = {story["name"]: story["steps"] for story in families(slice_patches.FILE)["rules"]}


@pytest.mark.parametrize("name", _RULES)
def test_rules_are_told_in_the_words_of_the_server(name: str) -> None:
    for step in _RULES[name]:
        answer, found = step["response"], faults(step["body"])
        wanted = [f"{cause['field']}: {cause['message']}" for cause in answer.get("causes", ())]
        if answer["code"] == _UNPROCESSABLE:
            # That rules were not checked is for a server to say: it may have others.
            assert {*wanted} - {*found} <= {_unchecked(wanted)}, step["body"]
            assert {*found} <= {*wanted, *answer.get("warnings", ())}, step["body"]
        else:
            assert (found == list(answer.get("warnings", ()))) == (answer["code"] == 201), step["body"]


def _unchecked(wanted: list[str]) -> str:
    return next((each for each in wanted if "some validation rules were not checked" in each), "")
