"""Embedded objects with the text that they came in: opaque parameters of drivers, and data of devices.

Kubernetes keeps such a ``RawExtension`` as bytes and compares it as bytes. A claim that was written with a space after
a colon is thus another one when a patch has been applied to it, which prints it anew, and its spec may not change. Who
wants to know whether a cluster takes a patch has to know the text, too. What a request brings is therefore always
``Embedded``: to Python, 1 would be true, and keys would have no order. Of what is stored only a text that Go would not
have printed itself is kept. Sources: ``k8s.io/apimachinery`` ``pkg/runtime/extension.go`` and ``converter.go``,
``encoding/json`` (``compact``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import msgspec

from drakit_api.golang.gostrings import to_json
from drakit_api.kubernetes_objects import Object

Texts = tuple[str | None, ...]

# The kinds that have fields of type RawExtension.
KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"})
PLURALS = frozenset({"resourceclaims", "resourceclaimtemplates", "deviceclasses"})
_NAMES = (b'"parameters"', b'"data"')
# Go prints larger numbers with one.
_SHOWN_WITHOUT_EXPONENT = 1e21
_INT64 = range(-(2**63), 2**63)


class Embedded(Object):
    """An embedded object, equal to one of the same text."""

    __slots__ = ("text",)

    def __init__(self, value: Object, text: str) -> None:
        super().__init__(value)
        self.text = text

    def __eq__(self, other: object) -> bool:
        return _are_same(self, other) if isinstance(other, dict) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not _are_same(self, other) if isinstance(other, dict) else NotImplemented

    __hash__ = None  # as a dict's


class Reread(Embedded):
    """One from a client in Go that writes protobuf but was given JSON: the text may be the one of that answer.

    From kube-apiserver it would have read protobuf, and the text as it was stored. So it is also equal to an object
    that was printed like this for it.
    """

    __slots__ = ()


def same_value(left: object, right: object) -> bool:
    """Tell whether two embedded values are the same but for the order of keys and the form of numbers."""
    return to_json(through_maps(left)) == to_json(through_maps(right))


def same_text(left: object, right: object) -> bool:
    """Tell whether two embedded values are the same bytes, which to Python would be the same if 1 stood for true."""
    return left is right or (left == right and _are_same(left, right))


def _are_same(left: object, right: object) -> bool:
    text, other = _text(left), _text(right)
    if text == other:
        return True
    return (isinstance(left, Reread) and text in _answers(right)) or (
        isinstance(right, Reread) and other in _answers(left)
    )


def _answers(value: object) -> tuple[str, str]:
    """Print a value as it looks in answers: Go's, and this server's."""
    return to_json(value), msgspec.json.encode(value).decode()


def _text(value: object) -> str:
    return value.text if isinstance(value, Embedded) else to_json(value)


class _Opaque(msgspec.Struct):
    parameters: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Config(msgspec.Struct):
    opaque: _Opaque | None = None


class _Devices(msgspec.Struct):
    config: list[_Config | None] | None = None


class _Spec(msgspec.Struct):
    """Of a claim, of a template, which has a claim's in it, and of a class."""

    devices: _Devices | None = None
    spec: _Spec | None = None
    config: list[_Config | None] | None = None


class _Allocation(msgspec.Struct):
    devices: _Devices | None = None


class _DeviceStatus(msgspec.Struct):
    data: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Status(msgspec.Struct):
    allocation: _Allocation | None = None
    devices: list[_DeviceStatus | None] | None = None


class _Root(msgspec.Struct):
    spec: _Spec | None = None
    status: _Status | None = None


_decode = msgspec.json.Decoder(_Root).decode


def attach(obj: Object, raw: bytes) -> None:
    """Make the embedded objects of ``obj``, which was read from ``raw``, ``Embedded`` with their texts, in place."""
    if not any(name in raw for name in _NAMES):
        return
    try:
        texts = tuple(bytes(text).decode() or None for text in _texts(_decode(raw)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return  # a wrong type, or a number that is too long: nothing will become of this object
    restore(obj, texts)


def restore(obj: Object, texts: Texts) -> None:
    """Give embedded objects the texts that ``texts_of`` has returned, in place; None leaves one as it is."""
    for (holder, name), text in zip(_places(obj), texts, strict=False):
        if text is not None and isinstance(value := holder.get(name), dict):
            holder[name] = Embedded(value, text)


def print_anew(obj: Object) -> Object:
    """Give embedded objects the text that Go prints, as a patch does; changes ``obj`` in place and returns it."""
    return _printed(obj, lambda value: value)


def print_sorted(obj: Object) -> Object:
    """Do as ``print_anew``, with keys and numbers as they come out of Go's maps (``through_maps``)."""
    return _printed(obj, through_maps)


def _printed(obj: Object, read: Callable[[Any], Any]) -> Object:
    for holder, name in _places(obj):
        if isinstance(value := holder.get(name), dict):
            value = read(value)
            holder[name] = Embedded(value, to_json(value))
    return obj


def through_maps(value: Any) -> Any:
    """Change a value to what Go prints if it reads it without knowing its type: keys sorted, 1.0 as 1."""
    if isinstance(value, dict):
        return {key: through_maps(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [through_maps(item) for item in value]
    if type(value) is int and value not in _INT64 and abs(value) <= sys.float_info.max:
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _SHOWN_WITHOUT_EXPONENT:
        return int(Decimal(repr(value)))
    return value


def texts_of(obj: Object) -> Texts | None:
    """Return the texts of embedded objects, for ``restore`` in a copy; None if Go would print all of them the same."""
    texts = tuple(_odd_text(holder.get(name)) for holder, name in _places(obj))
    return texts if any(texts) else None


def _odd_text(value: object) -> str | None:
    return value.text if isinstance(value, Embedded) and to_json(value) != value.text else None


def _places(obj: Object) -> Iterator[tuple[Object, str]]:
    """Yield where embedded objects may be, in one order: the object that has each, and the name of the field."""
    spec, status = _below(obj, "spec"), _below(obj, "status")
    for configs in (
        _below(spec, "devices").get("config"),
        _below(_below(spec, "spec"), "devices").get("config"),
        spec.get("config"),
        _below(_below(status, "allocation"), "devices").get("config"),
    ):
        for config in configs if isinstance(configs, list) else ():
            yield _below(config, "opaque"), "parameters"
    devices = status.get("devices")
    for device in devices if isinstance(devices, list) else ():
        yield device if isinstance(device, dict) else {}, "data"


def _below(obj: Any, name: str) -> Object:
    found = obj.get(name) if isinstance(obj, dict) else None
    return found if isinstance(found, dict) else {}


def _texts(root: _Root) -> Iterator[msgspec.Raw]:
    """Yield the texts of embedded objects, in the order in which ``_places`` yields their places."""
    spec, status = root.spec or _Spec(), root.status or _Status()
    inner, allocation = spec.spec or _Spec(), status.allocation or _Allocation()
    for configs in (
        (spec.devices or _Devices()).config,
        (inner.devices or _Devices()).config,
        spec.config,
        (allocation.devices or _Devices()).config,
    ):
        for config in configs or ():
            yield ((config or _Config()).opaque or _Opaque()).parameters
    for device in status.devices or ():
        yield (device or _DeviceStatus()).data
