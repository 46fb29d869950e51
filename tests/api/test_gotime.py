"""Times as Kubernetes writes them."""

from __future__ import annotations

import re
import time

import pytest

from drakit_api.golang import gotime


@pytest.mark.parametrize(
    ("micro", "form"), [(False, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), (True, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")]
)
def test_the_present_time_is_one_that_a_server_takes_as_it_is(micro: bool, form: str) -> None:
    now = gotime.now(micro=micro)
    assert re.fullmatch(form, now)
    assert gotime.canonical(now, micro=micro) == now


def test_the_present_time_goes_on() -> None:
    before, bound = gotime.now(micro=True), time.monotonic() + 10
    while gotime.now(micro=True) == before and time.monotonic() < bound:
        pass
    assert gotime.now(micro=True) > before
