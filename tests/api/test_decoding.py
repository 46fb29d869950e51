"""Decoding refuses in the words of the JSON decoder of an API server, and normalizes what it accepts.

The messages themselves are pinned by the recorded answers in ``test_validation_vectors``; here are the rules around
them.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from drakit_api.golang import gojson, gotime
from drakit_api.golang.gostrings import quote, to_json
from drakit_api.objects import encoding, schema
from drakit_api.objects.decoding import DecodeError, decode


def slice_with(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def test_unknown_fields_are_listed_together() -> None:
    with pytest.raises(DecodeError) as refused:
        decode("ResourceSlice", slice_with(colour="red", devices=[{"name": "a"}, {"nam": "b"}]))
    assert str(refused.value) == (
        'ResourceSlice in version "v1" cannot be handled as a ResourceSlice: strict decoding error: '
        'unknown field "spec.colour", unknown field "spec.devices[1].nam"'
    )


def test_unknown_fields_are_dropped_unless_strict() -> None:
    assert decode("ResourceSlice", slice_with(colour="red", driver="d"), strict=False)["spec"] == {"driver": "d"}


def test_a_wrong_type_outweighs_unknown_fields_and_a_quantity_outweighs_both() -> None:
    device = {"name": 1, "colour": "red"}
    with pytest.raises(DecodeError, match=r"cannot unmarshal number into Go struct field Device\.spec\.devices\.name"):
        decode("ResourceSlice", slice_with(devices=[device]))
    device["capacity"] = {"memory": {"value": "much"}}
    with pytest.raises(DecodeError, match="quantities must match"):
        decode("ResourceSlice", slice_with(devices=[device]))


@pytest.mark.parametrize(
    ("version", "device"), [("v1", {"name": "a", "allNodes": True}), ("v1beta1", {"name": "a", "basic": {}})]
)
def test_each_version_has_its_own_fields(version: str, device: dict[str, Any]) -> None:
    obj = slice_with(devices=[device])
    assert decode("ResourceSlice", obj, version)["spec"]["devices"] == [device]
    other = "v1beta1" if version == "v1" else "v1"
    with pytest.raises(DecodeError, match="unknown field"):
        decode("ResourceSlice", obj, other)


def test_a_kind_that_a_version_does_not_have() -> None:
    with pytest.raises(schema.UnknownKind, match=r"resource\.k8s\.io/v1 has no kind ResourcePool"):
        decode("ResourcePool", {})


def test_normalizes_without_touching_its_argument() -> None:
    sent = slice_with(
        nodeName=None,
        devices=[{"name": "a", "capacity": {"memory": {"value": "1024Mi"}}, "bindingConditions": [], "taints": [None]}],
    )
    before = copy.deepcopy(sent)
    device = {"name": "a", "capacity": {"memory": {"value": "1Gi"}}, "bindingConditions": [], "taints": [{}]}
    assert decode("ResourceSlice", sent)["spec"] == {"devices": [device]}
    assert sent == before


def test_numbers_are_quantities_too() -> None:
    spec = decode("ResourceSlice", slice_with(sharedCounters=[{"name": "c", "counters": {"a": {"value": 2000}}}]))[
        "spec"
    ]
    assert spec["sharedCounters"][0]["counters"]["a"] == {"value": "2k"}


def test_the_stored_form_spells_out_what_go_does_not_omit() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"exactly": {}}], "config": []}}}
    exactly = {"deviceClassName": ""}
    assert encoding.encode("ResourceClaim", claim) == {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "", "exactly": exactly}]}},
        "status": {},
    }


def test_the_stored_form_has_fields_in_the_order_of_the_type() -> None:
    sent = {
        "spec": {"driver": "d", "devices": [{"capacity": {"b": {}, "a": {}}, "name": "x"}], "pool": {}},
        "kind": "K",
    }
    stored = encoding.encode("ResourceSlice", sent)
    assert to_json(stored) == (
        '{"kind":"K","metadata":{},"spec":{"driver":"d","pool":{"name":"","generation":0,"resourceSliceCount":0},'
        '"devices":[{"name":"x","capacity":{"a":{"value":"0"},"b":{"value":"0"}}}]}}'
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-02-28T01:00:00Z", "2026-02-28T01:00:00Z"),
        ("2026-02-28T01:00:00.5+02:30", "2026-02-27T22:30:00Z"),
        ("2026-02-28T1:00:00Z", "2026-02-28T01:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_times_are_kept_in_utc_and_whole_seconds(text: str, canonical: str) -> None:
    assert gotime.canonical(text) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-02-28T01:00:00.123456Z", "2026-02-28T01:00:00.123456Z"),
        ("2026-02-28T01:00:00.100000+02:00", "2026-02-27T23:00:00.100000Z"),
    ],
)
def test_micro_times_keep_their_fraction(text: str, canonical: str) -> None:
    assert gotime.canonical(text, micro=True) == canonical


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1970-01-01T00:00:00Z", 0), ("2026-02-28T01:00:00Z", 1772240400), ("1969-12-31T23:59:59Z", -1)],
)
def test_times_count_from_1970(text: str, seconds: int) -> None:
    assert gotime.seconds(text) == seconds


def test_a_micro_time_needs_six_digits() -> None:
    with pytest.raises(ValueError, match=r"2006-01-02T15:04:05\.000000Z07:00") as refused:
        gotime.canonical("2026-02-28T01:00:00Z", micro=True)
    assert str(refused.value).endswith('cannot parse "Z" as ".000000"')


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", '"" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2026-2-28", '"2026-2-28" as "2006-01-02T15:04:05Z07:00": cannot parse "2-28" as "01"'),
        ("2026-13-01T00:00:00Z", '"2026-13-01T00:00:00Z": month out of range'),
        ("2026-02-30T00:00:00Z", '"2026-02-30T00:00:00Z": day out of range'),
        ("2026-02-28T24:00:00Z", '"2026-02-28T24:00:00Z": hour out of range'),
        ("2026-02-28T01:00:00Zx", '"2026-02-28T01:00:00Zx": extra text: "x"'),
        ("2026-02-28T01:00:00+25:00", '"2026-02-28T01:00:00+25:00": time zone offset hour out of range'),
    ],
)
def test_times_are_refused_in_the_words_of_go(text: str, complaint: str) -> None:
    """The complaints were printed by Go's ``time.Parse``."""
    with pytest.raises(ValueError, match=r".") as refused:
        gotime.canonical(text)
    assert str(refused.value) == f"parsing time {complaint}"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("tab\tbell\a\x01", r'"tab\tbell\a\x01"'),
        ("é漢", '"é漢"'),
        ("\u200b\U000e0001", r'"\u200b\U000e0001"'),
    ],
)
def test_quotes_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_json_in_messages_is_safe_in_html() -> None:
    assert to_json({"a": "<b> & c"}) == r'{"a":"\u003cb\u003e \u0026 c"}'


def test_a_number_that_nobody_could_read_again_is_not_kept_in_an_embedded_object() -> None:
    opaque = {"driver": "d.example", "parameters": {"list": [{"a": 1}, {"a": gojson.LongNumber("1" * 5000)}]}}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"config": [{"opaque": opaque}]}}}
    with pytest.raises(DecodeError, match="more than 4300 digits in an embedded object"):
        decode("ResourceClaim", claim)
    opaque["parameters"] = {"list": [{"a": int("1" * 4300)}]}
    assert decode("ResourceClaim", claim)["spec"]["devices"]["config"] == [{"opaque": opaque}]


def test_an_amount_has_an_end() -> None:
    """Upstream takes any, and needs minutes for some."""
    with pytest.raises(DecodeError, match="unable to parse numeric part of quantity: it has more than 20000 digits"):
        decode("ResourceSlice", slice_with(devices=[{"name": "a", "capacity": {"m": {"value": "1" * 20_001}}}]))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"a":%s}' % (b"1" * 4300), int("1" * 4300)),
        (b'{"a":%s}' % (b"1" * 4301), gojson.LongNumber("1" * 4301)),
        (b'{"a":-%s}' % (b"1" * 5000), gojson.LongNumber("-" + "1" * 5000)),
    ],
    ids=["as long as Python reads", "longer", "and negative"],
)
def test_numbers_of_any_length_are_read(text: bytes, found: int | gojson.LongNumber) -> None:
    value = gojson.read(text)["a"]
    assert type(value) is type(found)
    assert value == found
    assert getattr(value, "text", None) == getattr(found, "text", None)


def test_a_reader_that_has_no_use_for_such_numbers_is_told() -> None:
    assert gojson.read(b'{"a":1}', long_numbers=False) == {"a": 1}
    with pytest.raises(gojson.JsonError, match="more than 4300 digits"):
        gojson.read(b'{"a":[%s]}' % (b"1" * 5000), long_numbers=False)
