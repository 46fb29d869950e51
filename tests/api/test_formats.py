"""Formats of strings that no recorded vector covers."""

from __future__ import annotations

import pytest

from drakit_api import formats

_SHAPE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_LENGTH = "must be no more than 63 characters"


@pytest.mark.parametrize(
    ("label", "problems"),
    [
        ("v1beta1", []),
        ("a" * 63, []),
        ("1v", [_SHAPE]),
        ("V1", [_SHAPE]),
        ("a-", [_SHAPE]),
        ("", [_SHAPE]),
        ("a" * 64, [_LENGTH]),
        ("A" * 64, [_LENGTH, _SHAPE]),
    ],
)
def test_a_dns_1035_label_begins_with_a_letter(label: str, problems: list[str]) -> None:
    assert formats.dns_1035_label(label) == problems
