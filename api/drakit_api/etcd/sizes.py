"""How many bytes an object takes in etcd.

kube-apiserver stores built-in kinds as protobuf, so that neither the JSON that was sent nor the JSON that is answered
says it: names of fields take one byte or two, and what Go has no pointer for is stored even when it is empty. The size
is computed field by field from the table of messages, with the rules of the generated ``Size`` functions
(``k8s.io/api`` ``*/generated.pb.go``) and of the envelope (``k8s.io/apimachinery``
``pkg/runtime/serializer/protobuf``). It is exact for what an object says. Kubernetes has no numbers for mixins, which
are counted with free ones of the same length. Definitions of custom resources and these are stored as JSON, and as that
is counted every kind or field that is not in the table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from drakit_api.etcd import messages
from drakit_api.etcd.messages import Field
from drakit_api.objects.raw_extensions import Embedded

_INCLUDES = {15: Field("includes", "s", "[")}
# What the kit's gate DRAResourceSliceMixins adds to Kubernetes' messages, and messages that only it has.
_WITH_MIXINS = {
    "resource/v1.ResourceSliceSpec": {15: Field("mixins", "mixins", "*")},
    **dict.fromkeys(
        ("resource/v1.Device", "resource/v1.CounterSet", "resource/v1.DeviceCounterConsumption"), _INCLUDES
    ),
}
_MIXINS = {
    "mixins": {
        1: Field("counterSet", "resource/v1.CounterSet", "["),
        2: Field("device", "device mixin", "["),
        3: Field("deviceCounterConsumption", "resource/v1.CounterSet", "["),
    },
    "device mixin": {
        1: Field("name", "s", ""),
        2: Field("attributes", "resource/v1.DeviceAttribute", "{"),
        3: Field("capacity", "resource/v1.DeviceCapacity", "{"),
    },
}

# Computes the bytes of a field's content, without tag and length.
Size = Callable[[Any], int]

_ENVELOPE = 4  # "k8s\0" in front of each stored object
_SECONDS = 5  # bytes of a time since 1970, now and until 2106
_NOT_STORED = ("resourceVersion", "selfLink")  # the first is etcd's own revision (etcd3/api_object_versioner.go)
# apiextensions-apiserver has a codec of its own for what it stores (LegacyCodec).
_STORED_AS_JSON = "apiextensions/"
_encode = msgspec.json.Encoder().encode


def stored(obj: Mapping[str, Any], api_version: str = "", kind: str = "") -> int:
    """Count the bytes of the value in etcd for an object, with exactly the metadata that it carries.

    ``api_version`` and ``kind`` are the object's own where they are not given.
    """
    api_version, kind = api_version or obj["apiVersion"], kind or obj["kind"]
    message = messages.name_of(api_version, kind)
    if message not in messages.table() or message.startswith(_STORED_AS_JSON):
        return len(_encode({"apiVersion": api_version, "kind": kind, **obj}))
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _NOT_STORED}
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    raw = _of_message(message, {**body, "metadata": metadata})
    type_meta = _field(1, _string(api_version)) + _field(1, _string(kind))
    # runtime.Unknown: typeMeta, raw, and two empty strings for encoding and type of the content.
    return _ENVELOPE + _field(1, type_meta) + _field(1, raw) + 2 * _field(1, 0)


def ceiling(body: bytes) -> int:
    """Bound the bytes of an object of this JSON (printed without spaces) from above: quick, and often far too many.

    A text in JSON has more around it than in protobuf; what can be longer there are empty fields that are not in the
    JSON, which belong to an object, negative numbers, and a few items of lists.
    """
    return _SLACK + len(body) + _emptiest() * body.count(b"{") + 9 * body.count(b"-") + body.count(b",")


_SLACK = 2048


@functools.cache
def _emptiest() -> int:
    """Count the bytes of the message that takes most when it is empty."""
    return max(_message(name).empty for name in messages.table())


def varint(value: int) -> int:
    """Count the bytes of a number as protobuf writes it; a negative one has all ten."""
    return max(1, -(-(value % 2**64).bit_length() // 7))


def _field(tag: int, content: int) -> int:
    """Count the bytes of a field with a length, for a tag of ``tag`` bytes and a content of ``content`` bytes."""
    return tag + varint(content) + content


def _string(value: Any) -> int:
    return len(str(value).encode("utf-8", "surrogatepass"))


def _base64(value: str) -> int:
    return len(value) * 3 // 4 - value[-2:].count("=")


def _quantity(value: Any) -> int:
    return _field(1, _string(value))


def _raw(value: Any) -> int:
    """Count the bytes of a ``RawExtension``: a message with the JSON text in its first field."""
    return _field(1, len(value.text.encode()) if isinstance(value, Embedded) else len(_encode(value)))


def _time(value: Any) -> int:
    """Count the bytes of a time: seconds and nanoseconds; the latter are zero."""
    return 1 + _SECONDS + 1 + 1 if value else 0


def _micro_time(value: Any) -> int:
    """Count the bytes of a time with microseconds, which are stored as nanoseconds."""
    digits = str(value).partition(".")[2].rstrip("Z")
    return 1 + _SECONDS + 1 + varint(int(digits or 0) * 1000) if value else 0


def _int_or_string(value: Any) -> int:
    """Count the bytes of an ``IntOrString``: which of the two it is, and both."""
    number, text = (value, "") if isinstance(value, int) else (0, value)
    return 1 + 1 + 1 + varint(number) + _field(1, _string(text))


def _texts(value: Any) -> int:
    """Count the bytes of an ``ExtraValue``: a list of texts that is a message of its own."""
    return sum(_field(1, _string(text)) for text in value)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A sort of value: its content, how long that is if there is none, and whether a length comes before it."""

    size: Size
    empty: int
    has_length: bool = True

    def field(self, tag: int, content: int) -> int:
        return _field(tag, content) if self.has_length else tag + content


_KINDS = {
    "s": _Kind(_string, 0),
    "b": _Kind(_base64, 0),
    "t": _Kind(lambda _: 1, 1, has_length=False),
    "i": _Kind(lambda value: varint(int(value)), 1, has_length=False),
    "d": _Kind(lambda _: 8, 8, has_length=False),
    "meta/v1.Time": _Kind(_time, 0),
    "meta/v1.MicroTime": _Kind(_micro_time, 0),
    "meta/v1.FieldsV1": _Kind(_raw, 0),
    "RawExtension": _Kind(_raw, 0),
    "Quantity": _Kind(_quantity, _quantity("0")),
    "IntOrString": _Kind(_int_or_string, _int_or_string(0)),
    "authentication/v1.ExtraValue": _Kind(_texts, 0),
    "authorization/v1.ExtraValue": _Kind(_texts, 0),
    "certificates/v1.ExtraValue": _Kind(_texts, 0),
}


@functools.cache
def _kind(name: str) -> _Kind:
    known = _KINDS.get(name)
    return known if known is not None else _Kind(functools.partial(_of_message, name), _message(name).empty)


@dataclass(frozen=True, slots=True)
class _Member:
    """A field of a message: its tag's bytes, and what it takes when it is not there."""

    tag: int
    type: str
    marks: str
    absent: int

    def size(self, value: Any) -> int:
        kind = _kind(self.type)
        if "{" in self.marks:
            entries = ((_field(1, _string(key)), kind.field(1, kind.size(item))) for key, item in value.items())
            return sum(_field(self.tag, key + item) for key, item in entries)
        items = value if "[" in self.marks else [value]
        return sum(kind.field(self.tag, kind.size(item)) for item in items)


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: what it takes when empty, its fields by their name in JSON, and those that have no level there."""

    empty: int
    members: Mapping[str, _Member]
    embedded: tuple[_Member, ...]
    known: frozenset[str]


def _fields(name: str) -> Mapping[int, Field]:
    return _MIXINS[name] if name in _MIXINS else {**messages.fields(name), **_WITH_MIXINS.get(name, {})}


@functools.cache
def _message(name: str) -> _Message:
    members: dict[str, _Member] = {}
    embedded: list[_Member] = []
    known: set[str] = set()
    empty = 0
    for number, field in _fields(name).items():
        # Pointers, lists, maps and bytes are not written if they are empty.
        optional = field.type == "b" or any(mark in field.marks for mark in "*[{")
        tag = 1 if number < 16 else 2
        absent = 0 if optional else _kind(field.type).field(tag, _kind(field.type).empty)
        empty += absent
        member = _Member(tag, field.type, field.marks, absent)
        if "<" in field.marks:
            embedded.append(member)
            known |= _message(field.type).known
        else:
            members[field.name] = member
    return _Message(empty, members, tuple(embedded), frozenset(known | members.keys()))


def _of_message(name: str, value: Mapping[str, Any]) -> int:
    message = _message(name)
    total = message.empty
    for key, item in value.items():
        member = message.members.get(key)
        if item is None:
            continue
        if member is not None:
            total += member.size(item) - member.absent
        elif key not in message.known:
            total += _field(1, len(_encode(item)))
    for member in message.embedded:
        of_it = {key: item for key, item in value.items() if key in _message(member.type).known}
        if of_it or "*" not in member.marks:
            total += member.size(of_it) - member.absent
    return total
