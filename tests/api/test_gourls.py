"""URLs, against what ``net/url`` of Go 1.26 made of them."""

from __future__ import annotations

import pytest

from drakit_api.golang.gourls import GoUrl, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.b/c", GoUrl("https", None, "a.b")),
        ("https://u:p@h/x?y#z", GoUrl("https", "u:p", "h", "y", "z")),
        ("https://[::1]:80/", GoUrl("https", None, "[::1]:80")),
        ("https:h", GoUrl("https")),
        ("https://ü/", GoUrl("https", None, "ü")),
        ("ftp://h:1:2/", GoUrl("ftp", None, "h:1:2")),
        ("https://u%40:p@h", GoUrl("https", "u%40:p", "h")),
        ("///x", GoUrl()),
        ("//x/y", GoUrl("", None, "x")),
        ("1a:b/c", 'parse "1a:b/c": first path segment in URL cannot contain colon'),
        ("://", 'parse "://": missing protocol scheme'),
        ("https://h:1:2/", 'parse "https://h:1:2/": invalid port ":1:2" after host'),
        ("https://[::1", "parse \"https://[::1\": missing ']' in host"),
        ("https://[1.2.3.4]/", 'parse "https://[1.2.3.4]/": invalid IP-literal'),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a%20b/", 'parse "https://a%20b/": invalid URL escape "%20"'),
        ("https://h/%zz", 'parse "https://h/%zz": invalid URL escape "%zz"'),
        ("https://h/#%zz", 'parse "https://h/#%zz": invalid URL escape "%zz"'),
        ("https://h/\x01", 'parse "https://h/\\x01": net/url: invalid control character in URL'),
        ("https://p q@h", 'parse "https://p q@h": net/url: invalid userinfo'),
    ],
)
def test_a_url_is_taken_apart_as_in_go(text: str, url: GoUrl | str) -> None:
    if isinstance(url, GoUrl):
        assert parse(text) == url
    else:
        with pytest.raises(ValueError, match=r"^parse ") as raised:
            parse(text)
        assert str(raised.value) == url
