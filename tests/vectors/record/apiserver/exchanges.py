"""New exchanges like those that are recorded: the objects that were accepted, changed in every way there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.vectors.exchanges import GATES, Vector, recorded
from tests.vectors.record.apiserver.mutations import mutations

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


def _creates(server: str, name: str, base: Vector) -> Iterator[Vector]:
    common = {"server": server, "op": "create", "resource": base["resource"]}
    yield {"name": f"{name}: as is", **common, "object": base["object"]}
    for change, obj in mutations(base["object"]):
        yield {"name": f"{name}: {change}", **common, "object": obj}


def _updates(server: str, name: str, base: Vector) -> Iterator[Vector]:
    if base["resource"] == "pods":
        return
    meta = base["object"]["metadata"]
    old = {**base["object"], "metadata": {**meta, "name": f"upd-{meta['name']}"}}
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


def older(reads: Iterable[Vector]) -> Iterator[Vector]:
    """Conversions from the older versions of what ``convert`` has read, changed once more."""
    for vector in reads:
        for version, obj in vector["reads"].items():
            if version == "v1":
                continue
            for change, sent in [("as is", obj), *mutations(obj, below=("spec",))]:
                name = f"{vector['name']} from {version}: {change}"
                yield {**{key: vector[key] for key in ("server", "op", "resource")}, "name": name, "object": sent}
