"""Objects that grow by chance: from the least one of a kind, field by field, as long as a server takes them.

Beside them are a few that were chosen (``chosen.yaml``), of which chance makes none.

Nothing is known of validation but what OpenAPI says (required fields, enumerations) and a few values that many fields
with a name take. What the server refuses is left out again, so that the rest is as rich as it can be.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import AsyncIterator, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Field, Type
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from tests.vectors import defaulted
from tests.vectors.defaulted import RefusedError, Vector

_FACTS = "about/openapi/facts.json"
_DEEPEST = 12
# Fields of every object that other tests grow; and what is allocated or checked against other objects.
_LEFT_OUT = frozenset({"managedFields", "ownerReferences", "finalizers", "generateName", "namespace", "name"})
_TEXTS = {
    "image": ("i", "i:latest", "i:1", "r.example.com/i@sha256:" + "a" * 64),
    "path": ("/p", "p", "/p/q"),
    "mountPath": ("/m",),
    "ip": ("10.0.0.9",),
    "host": ("example.com", "10.0.0.9"),
    "operator": ("In", "Exists", "Equal", "Gt"),
    "topologyKey": ("kubernetes.io/hostname",),
    "schedule": ("*/5 * * * *",),
    "timeZone": ("Etc/UTC",),
    "type": ("Container", "Pod", "Pods", "Resource", "External", "Localhost", "RollingUpdate", "OnDelete", "Recreate"),
    "kind": ("User", "Group", "ServiceAccount", "Deployment", "ConfigMap"),
    "apiGroup": ("", "rbac.authorization.k8s.io", "example.com"),
    "status": ("True", "False"),
    "expression": ("true", "object.metadata.name"),
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "medium": ("Memory", ""),
}
_ANY_TEXT = ("a", "a", "example.com/a", "cpu", "b-c", "", "10.0.0.0/24", "A")
_NUMBERS = (1, 2, 1, 80, 600, 0, 100, 8080)
_QUANTITIES = ("1", "1Gi", "500m", "1500u", "1e3", "0.5")


def minimal() -> dict[str, dict[str, Object]]:
    """The least object of each kind, by apiVersion and plural."""
    return _read("minimal.yaml")


def _read(name: str) -> dict[str, dict[str, Object]]:
    found: dict[str, dict[str, Object]] = yaml.safe_load(Path(__file__).with_name(name).read_text())
    return found


def chosen(kind: Kind) -> Iterator[Vector]:
    """The vectors of a kind's chosen objects."""
    objects = _read("chosen.yaml").get(kind.api_version, {}).get(kind.plural, {})
    return (_vector(kind, name, obj) for name, obj in objects.items())


def least(kind: Kind) -> Vector:
    """The vector of the least object of a kind."""
    return _vector(kind, "the least", minimal()[kind.api_version][kind.plural], kept=True)


def _vector(kind: Kind, name: str, obj: Object, *, kept: bool = False) -> Vector:
    # Of its own: one that was kept may still be on its way out.
    meta = {"name": name.replace(" ", "-"), **obj.get("metadata", {})}
    of = f"{kind.api_version} {kind.plural}"
    vector: Vector = {"name": f"{of}: {name}", "path": defaulted.path_of(kind), "object": {**obj, "metadata": meta}}
    return {**vector, "kept": True} if kept else vector


async def grown(session: aiohttp.ClientSession, token: str, kind: Kind, seed: int, fields: int) -> Vector:
    """An object of a kind with about so many more fields than the least one, and what the server stores."""
    chance = random.Random(f"{kind.api_version} {kind.plural} {seed}")
    garden = _Garden(kind, chance)
    vector = _vector(kind, f"grown {seed}", minimal()[kind.api_version][kind.plural])
    vector["stored"] = await defaulted.stored(session, token, vector)
    left = fields
    for _ in range(6 * fields):
        bigger = {**vector, "object": garden.with_one_more(vector["object"])}
        try:
            bigger["stored"] = await defaulted.stored(session, token, bigger)
        except RefusedError:
            continue
        vector, left = bigger, left - 1
        if not left:
            break
    return vector


async def all_grown(
    session: aiohttp.ClientSession, token: str, kind: Kind, *, count: int, fields: int
) -> AsyncIterator[Vector]:
    """So many objects of a kind, each larger than the one before, of up to ``fields`` more fields."""
    for seed in range(1, count + 1):
        yield await grown(session, token, kind, seed, max(1, fields * seed // count))


class _Garden:
    """Grows objects of one kind by its Go types."""

    def __init__(self, kind: Kind, chance: random.Random) -> None:
        self._types, self._struct = structures.types_of(kind)
        self._chance = chance
        facts = resources.files("drakit_embedded.apiserver").joinpath(_FACTS).read_bytes()
        self._facts: dict[str, Object] = json.loads(facts)["fields"]

    def with_one_more(self, obj: Object) -> Object:
        """A copy of an object with one more field somewhere."""
        grown = copy.deepcopy(obj)
        places = list(self._places(grown, self._struct))
        if not places:
            return grown
        parent, struct, field = self._chance.choice(places)
        parent[field.name] = self._value(field.type, field.name, self._known(struct, field), 0)
        return grown

    def _places(self, obj: Object, struct: str) -> Iterator[tuple[Object, str, Field]]:
        """Every field that is not set yet, in an object and all below it."""
        for field in self._types.flat_fields(struct):
            if field.name in ("kind", "apiVersion") and struct == self._struct:
                continue
            if field.name not in obj:
                if not (struct.endswith(".ObjectMeta") and field.name in _LEFT_OUT):
                    yield obj, struct, field
            else:
                yield from self._below(obj[field.name], field.type)

    def _below(self, value: Any, kind: Type) -> Iterator[tuple[Object, str, Field]]:
        if kind.shape == "struct" and isinstance(value, dict):
            yield from self._places(value, kind.struct)
        elif kind.item is not None and value:
            for item in value if kind.shape == "list" else value.values():
                yield from self._below(item, kind.item)

    def _known(self, struct: str, field: Field) -> Object:
        facts: Object = self._facts.get(struct, {}).get("properties", {}).get(field.name, {})
        return facts

    def _value(self, kind: Type, name: str, facts: Object, depth: int) -> Any:
        choose = self._chance.choice
        match kind.shape:
            case "struct":
                return self._object(kind.struct, depth + 1)
            case "list":
                assert kind.item is not None
                return [self._value(kind.item, name, facts.get("items", {}), depth + 1)]
            case "map":
                assert kind.item is not None
                key = choose(("cpu", "memory", "storage")) if kind.item.shape == "quantity" else choose(("a", "b"))
                return {key: self._value(kind.item, name, {}, depth + 1)}
            case "bool":
                return choose((True, False))
            case "int":
                return choose(_NUMBERS)
            case "quantity":
                return choose(_QUANTITIES)
            case "time":
                return "2026-01-01T00:00:00Z"
            case "microtime":
                return "2026-01-01T00:00:00.000000Z"
            case "bytes":
                return "YQ=="
            case "intorstring":
                return choose((1, "25%", 80, "a"))
            case "raw":
                return {"a": 1}
        return choose(facts.get("enum") or _TEXTS.get(name) or _ANY_TEXT)

    def _object(self, struct: str, depth: int) -> Object:
        """A struct with what it needs, and by chance a little more."""
        required = set(self._facts.get(struct, {}).get("required", ()))
        made: Object = {}
        for field in self._types.flat_fields(struct):
            if depth < _DEEPEST and (field.name in required or self._chance.random() < 0.15):
                made[field.name] = self._value(field.type, field.name, self._known(struct, field), depth)
        return made
