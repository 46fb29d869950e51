"""Arithmetic, comparison and logic agree with cel-python, where cel-python is right."""

from __future__ import annotations

import contextlib
from typing import Any

import celpy
import pytest
from celpy.evaluation import CELEvalError
from hypothesis import given, settings
from hypothesis import strategies as st

from drakit_api.cel import CelCompileError, CelRuntimeError, check_selector, compile_selector, device_view

pytestmark = pytest.mark.slow

VIEW = device_view("gpu.example.com", {"name": "gpu-0"})
ENVIRONMENT = celpy.Environment()

INTEGERS = st.one_of(st.integers(-4, 4), st.sampled_from([2**62, 2**63 - 1, -(2**63) + 1]))
integers: st.SearchStrategy[str] = st.recursive(
    INTEGERS.map(lambda value: f"({value})"),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner),
    max_leaves=6,
)
# Methods only on literals: cel-python does not find them on the result of a concatenation.
TEXTS = st.sampled_from(['"a"', '"b"', '""', '"ab"'])
strings: st.SearchStrategy[str] = st.recursive(
    TEXTS, lambda inner: st.builds("({} + {})".format, inner, inner), max_leaves=4
)
COMPARISON = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
comparisons = st.one_of(
    st.builds("({} {} {})".format, integers, COMPARISON, integers),
    st.builds("({} {} {})".format, strings, COMPARISON, strings),
    st.builds("{}.startsWith({})".format, TEXTS, TEXTS),
    st.builds("{}.contains({})".format, TEXTS, TEXTS),
    st.sampled_from(["true", "false"]),
)
verdicts: st.SearchStrategy[str] = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner),
        st.builds("!{}".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=5,
)


def by_celpy(expression: str) -> Any:
    try:
        return bool(ENVIRONMENT.program(ENVIRONMENT.compile(expression)).evaluate({}))
    except CELEvalError:
        return "error"


def by_drakit(expression: str) -> Any:
    try:
        return compile_selector(expression).matches(VIEW)
    except CelRuntimeError:
        return "error"


@settings(max_examples=150, deadline=None)
@given(verdicts)
def test_agrees_with_cel_python(expression: str) -> None:
    assert by_drakit(expression) == by_celpy(expression)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab.?()[]{}'\"1 ,:&|!-+<=>\\`\n", max_size=30))
def test_any_text_is_compiled_or_refused_as_such(text: str) -> None:
    with contextlib.suppress(CelCompileError):
        assert check_selector(text) >= 0
