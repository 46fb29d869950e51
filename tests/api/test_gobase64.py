"""Where Go's decoder of base64 gives up; the answers are those of ``base64.StdEncoding`` of Go."""

from __future__ import annotations

import pytest

from drakit_api.golang import gobase64


@pytest.mark.parametrize(
    ("text", "decoded"), [("", b""), ("AAAA", b"\0\0\0"), ("aGk=", b"hi"), ("a\nG\r\nk=\n", b"hi"), ("aA==", b"h")]
)
def test_what_is_right(text: str, decoded: bytes) -> None:
    assert gobase64.decode(text) == decoded


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("!!", 0),
        ("AAA", 0),
        ("AAAAA", 4),
        ("AAAAAA", 4),
        ("A\nA", 1),
        ("AA=", 3),
        ("AA=\n", 4),
        ("AA=A", 2),
        ("AA==A", 4),
        ("AAA=A", 4),
        ("AAA=\n\nA", 6),
        ("A===", 1),
        ("=", 0),
        ("AAAA=", 4),
        ("AA_A", 2),
        ("\u00e9", 0),
        ("AAé", 2),
    ],
)
def test_where_it_is_wrong(text: str, place: int) -> None:
    with pytest.raises(gobase64.Base64Error, match=f"illegal base64 data at input byte {place}$"):
        gobase64.decode(text)
