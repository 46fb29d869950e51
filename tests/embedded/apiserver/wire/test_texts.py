"""Texts of bodies mean what they mean to Go, and what is wrong with them is said in Go's words.

``tests/vectors/api/texts.jsonl.gz`` has what Go's readers said (``tests/vectors/record/texts``).
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from drakit_api.golang import gojson
from drakit_api.objects import decoding
from drakit_embedded.apiserver.wire import yaml_bodies
from drakit_embedded.apiserver.wire.budget import DEEPEST
from tests.vectors import exchanges


def recorded(reader: str) -> list[tuple[bytes, dict[str, str]]]:
    """Texts, and what was said of them."""
    vectors = exchanges.recorded("texts")
    return [(base64.b64decode(one["text"]), one["answer"]) for one in vectors if one["reader"] == reader]


def of_yaml(raw: bytes) -> dict[str, Any]:
    try:
        value, repeated = yaml_bodies.read(raw)
    except yaml_bodies.YamlError as error:
        return {"error": str(error)}
    found: dict[str, Any] = {"json": value}
    if repeated:
        found["strict"] = "\n".join(["yaml: unmarshal errors:", *repeated])
    return found


def test_what_is_wrong_with_json_is_said_in_the_words_of_go() -> None:
    for raw, answer in recorded("json"):
        assert gojson.fault(raw) == answer.get("error"), raw


def test_yaml_becomes_the_json_that_go_makes_of_it() -> None:
    for raw, answer in recorded("yaml"):
        expected = {**answer, "json": json.loads(answer["json"])} if "json" in answer else answer
        assert of_yaml(raw) == expected, raw


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        pytest.param(b'{"a":{"b":1},"a":{"c":2}}', {"a": {"b": 1, "c": 2}}, id="objects become one"),
        pytest.param(b'{"a":[1],"a":[2]}', {"a": [2]}, id="of lists the last one counts"),
        pytest.param(b'{"a":"\xff"}', {"a": "�"}, id="what is not UTF-8 is replaced"),
        pytest.param(b'{"a":"\\ud800"}', {"a": "�"}, id="so is half a pair of surrogates"),
        pytest.param(b'{"a":"\\ud83d\\ude00:"}', {"a": "😀:"}, id="not a whole one"),
        # Python itself goes to a thousand levels or, from 3.12 on, to several thousand.
        pytest.param(b"[" * 30_000 + b"]" * 30_000, None, id="deeper than Go goes"),
    ],
)
def test_what_other_readers_refuse(raw: bytes, value: Any) -> None:
    if value is None:
        with pytest.raises(gojson.JsonError, match="exceeded max depth"):
            gojson.read(raw)
    else:
        assert gojson.read(raw) == value


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        pytest.param('{"spec":{},"spec":{}}', ['duplicate field "spec"'], id="of the object"),
        pytest.param('{"kind":"X","kind":"X"}', ['duplicate field "kind"'], id="its type"),
        pytest.param(
            '{"spec":{"devices":{},"devices":{"zz":1}},"bogus":1}',
            ['duplicate field "spec.devices"', 'unknown field "spec.devices.zz"', 'unknown field "bogus"'],
            id="in the order of the text",
        ),
        pytest.param('{"kind":"X","kind":"\\u003a"}', ['duplicate field "kind"'], id="beside a colon written so"),
        pytest.param('{"kind":"X","kind":"\\u003A"}', ['duplicate field "kind"'], id="or so"),
        pytest.param('{"metadata":{"labels":{"a":"b","a":"c"}}}', ['duplicate field "metadata.labels.a"'], id="keys"),
        pytest.param(
            '{"spec":{"devices":{"requests":[{},{"name":"a","name":"b"}]}}}',
            ['duplicate field "spec.devices.requests[1].name"'],
            id="in a list",
        ),
    ],
)
def test_a_field_that_is_there_twice_is_complained_about(text: str, complaints: list[str]) -> None:
    with pytest.raises(decoding.DecodeError) as refused:
        decoding.decode("ResourceClaim", gojson.read(text.encode()))
    assert list(refused.value.strict) == complaints
    decoding.decode("ResourceClaim", gojson.read(text.encode()), strict=False)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"[" * 30_000 + b"]" * 30_000, id="lists"),
        pytest.param(b"{a: " * 10_001 + b"}" * 10_001, id="objects"),
        pytest.param(b"- " * 10_001, id="lists without brackets"),
        pytest.param(b"[{a: " * 5_001 + b"}]" * 5_001, id="both"),
        pytest.param(b"[" * 30_000, id="never closed"),
        pytest.param(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), id="one level more than is read"),
        pytest.param(b"- &a " + b"[" * 200 + b"]" * 200 + b"\n- " + b"[" * 60 + b"*a" + b"]" * 60, id="by an alias"),
    ],
)
def test_yaml_can_be_too_deep(raw: bytes) -> None:
    with pytest.raises(
        yaml_bodies.YamlError, match=r"^yaml: exceeded max depth: drakit's API server reads 256 levels$"
    ):
        yaml_bodies.read(raw)


def merging(levels: int) -> str:
    """Objects of which each is made of the one before, ten times over."""
    lines = [f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 10)}]}}" for at in range(1, levels)]
    return "\n".join(["a0: &a0 {k: 1}", *lines])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("&a [*a]", "anchor 'a' value contains itself", id="a list of itself"),
        pytest.param("b: &a {<<: *a}", "anchor 'a' value contains itself", id="made of itself"),
        pytest.param("a: *b", "unknown anchor 'b' referenced", id="unknown anchor"),
        pytest.param(merging(9), "document contains excessive aliasing", id="grows by aliases that are merged"),
        pytest.param(
            "a: &a [{b: 1}]\nc: {<<: *a}", "map merge requires map or sequence of maps as the value", id="merged list"
        ),
        pytest.param("a: !!int " + "9" * 5000, "cannot decode !!str", id="more digits than Python reads"),
    ],
)
def test_yaml_that_stands_for_no_value(text: str, why: str) -> None:
    with pytest.raises(yaml_bodies.YamlError, match=f"^yaml: {why}"):
        yaml_bodies.read(text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: " + "9" * 5000, {"a": "9" * 5000}, id="more digits than a number has"),
        pytest.param("a: 18446744073709551615", {"a": 2**64 - 1}, id="the largest integer"),
        pytest.param("a: &x k\n*x : 1", {"a": "k", "k": 1}, id="an alias can be a key"),
        pytest.param("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}, id="an anchor can be given again"),
        pytest.param("a: &x [1]\nb: {c: *x}", {"a": [1], "b": {"c": [1]}}, id="an alias is what it stands for"),
        pytest.param("--- {a: 1}\n--- [", {"a": 1}, id="what follows the first document is not looked at"),
        pytest.param("a: !!str 1\nb: ! 2\nc: '3'", {"a": "1", "b": "2", "c": "3"}, id="texts"),
    ],
)
def test_yaml_is_read_by_its_structure(text: str, value: Any) -> None:
    assert yaml_bodies.read(text.encode())[0] == value


def test_an_embedded_object_may_have_a_key_twice() -> None:
    config = '[{"opaque":{"driver":"d.e","parameters":{"a":1,"a":2}}}]'
    claim = decoding.decode("ResourceClaim", gojson.read(f'{{"spec":{{"devices":{{"config":{config}}}}}}}'.encode()))
    assert claim["spec"]["devices"]["config"][0]["opaque"]["parameters"] == {"a": 2}
