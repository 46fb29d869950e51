"""New exchanges like those that are recorded: the objects that were accepted, changed in every way there is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.vectors.exchanges import GATES, Vector, recorded
from tests.vectors.record.apiserver.mutations import changes, mutations

_VERSIONS = ("v1", "v1beta2", "v1beta1")


def bases() -> dict[str, Vector]:
    """An exchange for each object that others are changes of, by the name of the object."""
    found: dict[str, Vector] = {}
    for vector in recorded("create"):
        name, _, change = vector["name"].partition(": ")
        if change.startswith("as is"):
            found.setdefault(name, {"resource": vector["resource"], "object": vector["object"]})
    for vector in recorded("ops"):
        name = vector["name"].partition(": ")[0].removeprefix("update ")
        if vector["op"] == "update" and name not in found:
            old = vector["old"]
            meta = {**old["metadata"], "name": old["metadata"]["name"].removeprefix("upd-")}
            found[name] = {"resource": vector["resource"], "object": {**old, "metadata": meta}}
    return found


def made() -> Iterator[Vector]:
    """Creates, updates and conversions of all bases, and writes of the recorded statuses, for each server."""
    for server in GATES:
        for name, base in bases().items():
            yield from _creates(server, name, base)
            yield from _updates(server, name, base)
            yield from _conversions(server, name, base)
        yield from _statuses(server)


def chosen(count: int, seed: int, *, together: int) -> Iterator[Vector]:
    """So many creates and updates by chance, each with as many changes of one object at once.

    A later change is one of the object that the earlier ones have left.
    """
    of = Random(seed)
    all_bases = list(bases().items())
    for number in range(count):
        name, base = of.choice(all_bases)
        op = "create" if base["resource"] == "pods" else of.choice(("create", "update"))
        obj = base["object"] if op == "create" else _updated(base["object"])
        sent, told = obj, []
        for _ in range(together):
            if not (left := list(changes(sent))):
                break
            change, sent = of.choice(left).of(sent)
            told.append(change)
        found = {"name": f"{number}: {op} {name}: {'; '.join(told)}", "server": of.choice(list(GATES)), "op": op}
        old = {"old": obj} if op == "update" else {}
        yield {**found, "resource": base["resource"], **old, "object": sent}


def _updated(obj: Any) -> Any:
    """An object under the name that its updates have, so that they are not in the way of creates."""
    return {**obj, "metadata": {**obj["metadata"], "name": f"upd-{obj['metadata']['name']}"}}


def _creates(server: str, name: str, base: Vector) -> Iterator[Vector]:
    common = {"server": server, "op": "create", "resource": base["resource"]}
    yield {"name": f"{name}: as is", **common, "object": base["object"]}
    for change, obj in mutations(base["object"]):
        yield {"name": f"{name}: {change}", **common, "object": obj}


def _updates(server: str, name: str, base: Vector) -> Iterator[Vector]:
    if base["resource"] == "pods":
        return
    old = _updated(base["object"])
    for change, obj in mutations(old):
        common = {"server": server, "op": "update", "resource": base["resource"]}
        yield {"name": f"update {name}: {change}", **common, "old": old, "object": obj}


def _conversions(server: str, name: str, base: Vector) -> Iterator[Vector]:
    """Only what is the same in all versions: for others, the real server's answer to a read is what to send."""
    if base["resource"] == "pods" or (base["resource"], server) == ("devicetaintrules", "off136"):
        return
    for change, obj in [("as is", base["object"]), *mutations(base["object"], below=("spec",))]:
        common = {"server": server, "op": "convert", "resource": base["resource"]}
        yield {"name": f"convert {name}: {change}", **common, "object": obj}


def _statuses(server: str) -> Iterator[Vector]:
    """Of each status that was recorded as accepted, over each object that it was recorded of."""
    seen: list[Any] = []
    for vector in recorded("ops"):
        if vector["op"] != "status" or vector["response"]["code"] != 200:
            continue
        key = [vector["old"], vector["object"]]
        if len(seen) > 12 or key in seen:
            continue
        seen.append(key)
        for change, obj in mutations(vector["object"], below=("status", "metadata")):
            common = {"server": server, "op": "status", "resource": vector["resource"]}
            yield {"name": f"{vector['name']}, {change}", **common, "old": vector["old"], "object": obj}
