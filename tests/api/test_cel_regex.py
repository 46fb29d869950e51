"""Regular expressions in selectors: Go's syntax and words, and no pattern that blocks whoever evaluates it."""

from __future__ import annotations

import pytest

from drakit_api.cel import CelCompileError, CelRuntimeError, compile_selector, device_view

DRIVER = "gpu.example.com"
ATTRIBUTE = 64  # bytes; the longest text that an attribute of a device may have


def verdict(text: str, expression: str) -> bool:
    device = {"attributes": {"text": {"string": text}}}
    return compile_selector(f'cel.bind(text, device.attributes["{DRIVER}"].text, {expression})').matches(
        device_view(DRIVER, device)
    )


@pytest.mark.timeout(60)  # with backtracking, 2^63 ways to split the text are tried
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^(.*)*$x", "(a*)*(a*)*(a*)*c"])
@pytest.mark.parametrize("use", ["text.matches('{}')", "text.find('{}') != ''", "text.findAll('{}') == ['a']"])
def test_no_pattern_takes_exponential_time(use: str, pattern: str) -> None:
    assert not verdict("a" * (ATTRIBUTE - 1) + "b", use.format(pattern))


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("A100", "text.matches('^[AH]1[0-9]+$')", True),
        ("A100\n", "text.matches('0$')", False),
        ("größe", "text.matches(r'^\\w+$')", False),
        ("größe", "text.matches(r'^\\pL+$')", True),
        ("größe", "text.find('ö.') == 'öß'", True),
        ("größe", "text.findAll('[öß]') == ['ö', 'ß']", True),
        ("größe", "text.findAll('x*') == ['', '', '', '', '', '']", True),
        ("a1b22", "text.findAll('[0-9]*', 2) == ['', '1']", True),
        ("", "text.matches('^$')", True),
    ],
)
def test_matches_as_go_does(text: str, expression: str, expected: bool) -> None:
    assert verdict(text, expression) is expected


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)b>", "invalid named capture: `(?<=a)b>`"),
        ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        (r"a\8", r"invalid escape sequence: `\8`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_complaints_are_those_of_go(pattern: str, complaint: str) -> None:
    with pytest.raises(CelRuntimeError) as failure:
        verdict(pattern, "'a'.matches(text)")
    assert str(failure.value) == f"error parsing regexp: {complaint}"


def test_bytes_are_no_characters_but_quoted_text_is() -> None:
    assert verdict(r"\C", r"text.matches(r'\Q\C\E')")
    assert verdict(r"\C", r"text.matches(r'\\C')")


def test_a_pattern_that_needs_much_memory_is_refused() -> None:
    with pytest.raises(CelCompileError, match=r"program instantiation failed: .*: expression too large"):
        compile_selector(r"device.driver.find(r'\pL{1000}') == ''")
