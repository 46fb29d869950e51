"""Objects of every kind take in drakit's count what they take in etcd."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from drakit_api.etcd import limits, messages
from drakit_api.etcd.sizes import ceiling, stored
from tests.vectors import stored_sizes
from tests.vectors.defaulted import WRITTEN_AT_ONCE

# Bytes that are counted too many or too few, of kinds that are not stored as they are answered: in the version before
# ("v1beta1" is five bytes longer than "v1"), as the other kind of event, without what a default adds at reading.
_BETA = -len("beta1")
_OTHERWISE = {
    "certificates.k8s.io/v1 clustertrustbundles": _BETA,
    "certificates.k8s.io/v1 podcertificaterequests": _BETA,
    "resource.k8s.io/v1 devicetaintrules": _BETA,
    "storagemigration.k8s.io/v1 storageversionmigrations": _BETA,
    "events.k8s.io/v1 events": len("events.k8s.io/"),
    "v1 persistentvolumeclaims": len("Pending"),
}
# Labels are added to a Job at reading, and the others are written to meanwhile.
_NOT_COMPARED = WRITTEN_AT_ONCE | {"Job"}
_NUMBERS = {"i": -(2**31), "t": True, "d": 0.5}


def test_every_kind_is_counted_as_etcd_has_it() -> None:
    recorded = [line for line in stored_sizes.recorded() if line["object"]["kind"] not in _NOT_COMPARED]
    wrong = {
        line["name"]: (counted, line["bytes"])
        for line in recorded
        if (counted := stored(line["object"])) != line["bytes"] + _OTHERWISE.get(line["name"].partition(": ")[0], 0)
    }
    assert wrong == {}
    assert len(recorded) > 200


def test_the_ceiling_is_never_below_what_is_stored() -> None:
    for line in stored_sizes.recorded():
        assert ceiling(msgspec.json.encode(line["object"])) >= line["bytes"]


@pytest.mark.parametrize("seed", range(20))
def test_the_ceiling_holds_for_odd_objects(seed: int) -> None:
    """Empty items, negative numbers and short texts, which take more bytes in protobuf than in JSON."""
    chosen = random.Random(seed)
    for name in chosen.sample(["core/v1.Pod", "resource/v1.ResourceSlice", "apps/v1.StatefulSet", "batch/v1.Job"], 2):
        group, _, kind = name.partition("/v1.")
        obj = {"metadata": {"name": "a"}, **_drawn(name, chosen, 6)}
        size = stored(obj, "v1" if group == "core" else f"{group}/v1", kind)
        assert ceiling(msgspec.json.encode(obj)) >= size


def _drawn(message: str, chosen: random.Random, depth: int) -> dict[str, Any]:
    """An object with some of the fields of a message, as empty as can be."""
    found: dict[str, Any] = {}
    for field in messages.fields(message).values():
        if field.name == "metadata" or "<" in field.marks or chosen.random() < 0.5:
            continue
        value = _value(field.type, chosen, depth)
        if value is None:
            continue
        many = chosen.choice((1, 30))
        found[field.name] = [value] * many if "[" in field.marks else {"": value} if "{" in field.marks else value
    return found


def _value(kind: str, chosen: random.Random, depth: int) -> Any:
    if kind in messages.table():
        return _drawn(kind, chosen, depth - 1) if depth and not kind.startswith("meta/") else None
    return _NUMBERS.get(kind, "" if kind in ("s", "b") else "1" if kind == "Quantity" else None)


@pytest.mark.parametrize(
    ("plural", "namespace", "name", "key"),
    [
        ("pods", "default", "a", "/registry/pods/default/a"),
        ("nodes", "", "n", "/registry/minions/n"),
        ("services", "default", "s", "/registry/services/specs/default/s"),
        ("resourceslices", "", "s", "/registry/resourceslices/s"),
    ],
)
def test_keys(plural: str, namespace: str, name: str, key: str) -> None:
    assert limits.key_of(plural, namespace, name) == key


def test_mixins_are_counted_as_if_kubernetes_had_numbers_for_them() -> None:
    def counted(**spec: Any) -> int:
        obj: Mapping[str, Any] = {"metadata": {"name": "s"}, "spec": {"driver": "d", "pool": {"name": "p"}, **spec}}
        return stored(obj, "resource.k8s.io/v1", "ResourceSlice")

    mixin = {"name": "m", "attributes": {"a": {"int": 1}}}
    plain, with_mixins = counted(devices=[{"name": "d"}]), counted(devices=[{"name": "d"}], mixins={"device": [mixin]})
    # Tag and length of mixins, device, name, attributes; of an entry's key and value; and the contents.
    assert with_mixins - plain == 2 + 2 + (2 + 1) + 2 + (2 + 1) + 2 + 2
    assert counted(devices=[{"name": "d", "includes": ["m"]}]) - plain == 2 + 1
