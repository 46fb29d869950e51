"""Waiting after failures: it doubles, has a limit, and never overflows."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drakit_client.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.0), (1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 5.0), (6, 5.0), (10**6, 5.0)]
)
def test_a_pause_doubles_up_to_the_limit(failures: int, seconds: float) -> None:
    assert Backoff(0.5, 5.0).seconds(failures) == seconds


def test_pauses_are_those_after_each_failure() -> None:
    assert list(islice(Backoff(0.5, 5.0).pauses(), 6)) == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


@given(initial=st.floats(0, 1e6), longest=st.floats(0, 1e6), failures=st.integers(1, 10**9))
def test_pauses_never_shrink_and_never_exceed_the_limit(initial: float, longest: float, failures: int) -> None:
    backoff = Backoff(initial, longest)
    assert backoff.seconds(failures) <= backoff.seconds(failures + 1) <= longest
