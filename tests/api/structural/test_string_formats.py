"""Formats of strings, by the examples of kube-openapi's own tests and by where its rules end."""

import pytest

from drakit_api.structural.string_formats import check_of, is_recognized

# format -> what has it, what has not
_CASES: dict[str, tuple[list[str], list[str]]] = {
    "bsonobjectid": (["507f1f77bcf86cd799439011"], ["", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"]),
    "byte": (["TG9yZW0=", "TG9y", "QQ=="], ["", "12345", "Vml2YW11cyBmZXJtZtesting123"]),
    "cidr": (["10.0.0.0/8", "10.0.0.01/08", "::1/128"], ["", "10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/"]),
    "creditcard": (
        ["4220855426222389", "4220 8554 2622 2389", "374953669708156"],
        ["", "credit card", "4220855426213389", "30190239451016"],
    ),
    "date": (["2014-12-15", "0000-02-29"], ["", "2014-02-30", "2014-12-1", "14-12-15", "2014-12-15 "]),
    "date-time": (
        ["2014-12-15T19:30:20.000Z", "2014-12-15t19:30:20+01:00", "2014-12-15T19:30:20ZT"],
        ["", "2014-12-15", "2014-12-15 19:30:20Z", "2014-12-15T24:30:20Z", "2014-13-15T19:30:20Z"],
    ),
    "duration": (
        ["1h30m", "-1.5s", "0", "3 weeks", "22 ns", "every 5 minutes", "1h" * 200],
        ["", "x", "1y", "5 parsecs", "99999999999999999999s"],
    ),
    "email": (
        ["a@b", "Bob <bob@x.y>", '"a b"@c.d', "a@[127.0.0.1]", "a@b (hi)", " a@b", "<a@b>", "g: a@b;", "ö@ä.de"],
        ["", "Bob", "@b", "a@", "a..b@c", "a.@b", "a@b c", "a@b,c@d", "a@[x]", '""@b'],
    ),
    "hexcolor": (["#fff", "CCccCC"], ["", "#ff", "fff0", "#ff12FG", "#fff\n"]),
    "hostname": (
        ["somewhere.com", "localhost", "ö.example.com", "a" * 63, "3com.com"],
        ["", "foo-bar", "-a", "a_b", "a..com", "a" * 64, "example.c", "a." * 130 + "com"],
    ),
    "ipv4": (["1.2.3.4", "01.02.03.04", "::ffff:1.2.3.4"], ["", "256.1.1.1", "1.2.3", "::1"]),
    "ipv6": (["::1", "::ffff:1.2.3.4", "2001:db8:0000:1:1:1:1:1"], ["", "127.0.0.1", "fe80::1%eth0", "1::2::3"]),
    "isbn": (["3836221195", "978-4-87311-368-5"], ["", "foo", "3836221196"]),
    "isbn10": (["1-61729-085-8", "3 401 01319 X"], ["978-3836221191", "3-423-21412-1"]),
    "isbn13": (["9784873113685", "978 3401013190"], ["3-8362-2119-5", "978 3 8362 2119 0"]),
    "k8s-long-name": (["a.b-c.d", "a" * 64], ["", "A", "a..b", "-a", "a" * 254]),
    "k8s-short-name": (["a-b", "a" * 63], ["", "A", "a.b", "a-", "a" * 64]),
    "mac": (
        ["3D:F2:C9:A6:B3:4F", "3D-F2-C9-A6-B3-4F", "0011.2233.4455", "001122334455", "00:11:22:33:44:55:66:77"],
        ["", "3D-F2-C9-A6-B3:4F", "123", "00:11:22:33:44"],
    ),
    "password": (["", "secret"], []),
    "rgbcolor": (["rgb(0,31,255)", "rgb(0,  31, 255)"], ["", "rgb(1,349,275)", "rgb(01,31,255)", "rgba(0,31,255)"]),
    "ssn": (["191 60 2869", "191-60-2869"], ["", "191602869", "00-90-8787"]),
    "uri": (["http://foobar.com", "mailto:a@b", "/abs/dir"], ["", "foobar.com", "./rel/dir", "http://a b"]),
    "uuid": (["b2b1b8a0-8e2c-11ee-b9d1-0242ac120002", "B2B1B8A08E2C11EEB9D10242AC120002"], ["", "b2b1b8a0", "g" * 32]),
    "uuid3": (["9b2c8f3e-3f5a-3c1d-8a4b-2d1e0f9a8b7c"], ["b2b1b8a0-8e2c-11ee-b9d1-0242ac120002"]),
    "uuid4": (["f47ac10b-58cc-4372-a567-0e02b2c3d479"], ["f47ac10b-58cc-4372-c567-0e02b2c3d479"]),
    "uuid5": (["74738ff5-5367-5958-9aee-98fffdcd1876"], ["f47ac10b-58cc-4372-a567-0e02b2c3d479"]),
}


@pytest.mark.parametrize("name", _CASES)
def test_texts_with_and_without_a_format(name: str) -> None:
    check = check_of(name)
    assert check is not None
    has, has_not = _CASES[name]
    assert [text for text in has if not check(text)] == []
    assert [text for text in has_not if check(text)] == []


@pytest.mark.timeout(10)  # with backtracking, these would take years
@pytest.mark.parametrize("text", ["a" * 100_000, "a." * 50_000, '"' + "\\a" * 50_000, "a " * 50_000, "(" * 50_000])
def test_no_text_takes_long(text: str) -> None:
    for name in ("email", "hostname", "duration", "byte", "uri"):
        check = check_of(name)
        assert check is not None
        check(text)


@pytest.mark.parametrize(
    ("name", "of_type", "recognized"),
    [
        ("date-time", "string", True),
        ("datetime", "", True),
        ("int32", "integer", True),
        ("int32", "number", False),
        ("double", "number", True),
        ("int32", "string", False),
        ("email", "array", False),
        ("shoe-size", "string", False),
    ],
)
def test_formats_belong_to_types(name: str, of_type: str, recognized: bool) -> None:
    assert is_recognized(name, of_type) is recognized
