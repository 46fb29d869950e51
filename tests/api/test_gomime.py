"""What is a media type for Go; the answers are those of ``mime.ParseMediaType``."""

from __future__ import annotations

import pytest

from drakit_api.golang import gomime


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("application/json", "application/json"),
        (" Application/JSON ; Charset=UTF-8", "application/json"),
        ('application/json;charset="utf-8"', "application/json"),
        ('application/json;charset="a\\"b;"', "application/json"),
        ("application/json;a=b;a=b", "application/json"),
        ("application/json;", "application/json"),
        ("application/json; a=b ; ", "application/json"),
        ("json", "json"),
    ],
)
def test_what_is_right(text: str, kind: str) -> None:
    assert gomime.media_type(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "/",
        "a/",
        "a/b/c",
        "*/ *",
        "application/json, application/yaml",
        "application/json; a",
        "application/json; a=",
        "application/json;a=b;a=c",
        "application/json;a=b;A=c",
        'application/json; charset="utf',
        "application/json;;",
        "application/json; a=b c",
        "application/json;=b",
    ],
)
def test_what_is_wrong(text: str) -> None:
    with pytest.raises(gomime.MediaTypeError):
        gomime.media_type(text)
