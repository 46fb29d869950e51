"""Layouts: an author's own devices, written as YAML, read strictly into pools.

A document is the ``spec`` of a ResourceSlice without the API's limit on its size, or a whole ResourceSlice object, or a
List of such (what ``drakit driver slices`` prints can be read again). What it leaves out comes from the caller: the
driver's name, and the nodes if the devices are local to one. ``docs/layouts.md`` is the author's guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins, pool_rules
from drakit_api.layouts.fields import OBJECT, SPEC
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.strict_reading import UNREADABLE, Place, Problems, type_name

_SELECTIONS = ("node_name", "node_selector", "all_nodes", "per_device_node_selection")
_GROUP = "resource.k8s.io/"
_DEVICE = re.compile(r"spec\.devices\[(\d+)]\.")


def pools(documents: Iterable[Any], *, driver: str | None = None, node_names: Sequence[str] = ()) -> list[Pool]:
    """Read the documents of a layout file.

    ``driver`` replaces the driver that the layout names. A document without node selection describes the devices of
    one node and becomes a pool for each of ``node_names``, named after it. Documents of the same driver and pool are
    put together. Mixins stay; ``mixins.flatten`` applies them. Raises ``PoolError`` with all errors of all documents.
    """
    errors: list[str] = []
    found: dict[tuple[str, str], Pool] = {}
    objects = list(_objects(documents))
    for index, document in enumerate(objects):
        prefix = f"document {index + 1}: " if len(objects) > 1 else ""
        pool, lines = _read(document, driver)
        errors += [prefix + line for line in lines]
        for each in _placed(pool, node_names):
            key = (each.driver, each.name)
            if key in found:
                found[key], lines = _joined(found[key], each)
                errors += [prefix + line for line in lines]
            else:
                found[key] = each
    if not objects:
        errors.append("the layout is empty")
    # The pools of a document's nodes have the same devices, and what is wrong with those is not said of the node.
    distinct = {id(pool.devices): pool for pool in found.values()}
    errors += [line for pool in distinct.values() for line in _violations(pool)]
    errors = errors or [line for pool in distinct.values() for line in _refusals(pool)]
    if errors:
        raise PoolError(dict.fromkeys(errors))
    return list(found.values())


def _objects(documents: Iterable[Any]) -> Iterator[Any]:
    """Yield the documents; of a List, yield its items instead."""
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        if isinstance(items, list) and str(document.get("kind")).endswith("List"):
            yield from items
        elif document is not None:
            yield document


def _read(document: Any, driver: str | None) -> tuple[Pool, list[str]]:
    problems = Problems()
    whole = isinstance(document, dict) and ("spec" in document or "kind" in document)
    if whole:
        read = OBJECT(document, Place(), problems)
        spec = {} if read is UNREADABLE else read["spec"]
        if read is not UNREADABLE:
            _check_type(read, problems)
    elif isinstance(document, dict):
        spec = SPEC(document, Place(), problems)
    else:
        problems.add(Place(), f"a layout is an object with sharedCounters and devices, not {type_name(document)}")
        spec = {}
    pool = mixins.pool_of(spec)
    if driver is not None or not pool.driver:
        pool = replace(pool, driver=driver or "")
    if not pool.driver and isinstance(document, dict) and "driver" not in spec:
        problems.add(Place(), "driver: required; name it in the layout or with --driver-name")
    return pool, [*problems.lines(), *(mixins.slice_violations(pool) if whole else [])]


def _check_type(read: Object, problems: Problems) -> None:
    kind, version = read.get("kind", "ResourceSlice"), read.get("apiVersion", _GROUP)
    if kind != "ResourceSlice" or not version.startswith(_GROUP):
        problems.add(Place(), f"kind: a layout describes ResourceSlices of {_GROUP}*, not {kind} of {version}")


def _placed(pool: Pool, node_names: Sequence[str]) -> Iterator[Pool]:
    """Yield the pool itself if it says where its devices are, else one pool for each node."""
    if any(getattr(pool, name) for name in _SELECTIONS):
        yield replace(pool, name=pool.name or pool.node_name or pool.driver)
        return
    for node in node_names:
        own_name = pool.name if len(node_names) == 1 else f"{node}/{pool.name}"
        yield replace(pool, name=own_name if pool.name else node, node_name=node)
    if not node_names:
        yield replace(pool, name=pool.name or pool.driver)


def _joined(first: Pool, second: Pool) -> tuple[Pool, list[str]]:
    """Join two documents of one pool, as several slices of a pool are."""
    errors = []
    if any(getattr(first, name) != getattr(second, name) for name in _SELECTIONS):
        errors.append(f"pool {first.name}: its documents are for different nodes; give each pool a name of its own")
    joined: Object = {}
    for kind in {**(first.mixins or {}), **(second.mixins or {})}:
        before = (first.mixins or {}).get(kind, [])
        joined[kind] = before + [each for each in (second.mixins or {}).get(kind, []) if each not in before]
    pool = replace(
        first,
        shared_counters=first.shared_counters + second.shared_counters,
        devices=first.devices + second.devices,
        mixins=joined or None,
    )
    return pool, errors


def _violations(pool: Pool) -> list[str]:
    broken = [*mixins.violations(pool), *pool_rules.violations(mixins.applied(pool))]
    return list(dict.fromkeys(broken))


def _refusals(pool: Pool) -> Iterator[str]:
    """Yield what an API server with all features on would refuse of a pool's slices, worded for its devices.

    All on, because fields of features that are off are dropped and not refused, whatever they say.
    """
    # Imported here: profiles need no judgement, and the rules take longer to import than all else together.
    from drakit_api.layouts.slices import resource_slices
    from drakit_api.validation import validate_create

    gates = FeatureGates(overrides={"AllAlpha": True, "AllBeta": True})
    for each in resource_slices(mixins.applied(pool), generation=1, gates=gates):
        devices = [device["name"] for device in each["spec"].get("devices", [])]
        for error in validate_create("resourceslices", {**each, "metadata": {"name": "slice"}}, gates):
            index = _DEVICE.match(error.field)
            place = f"device {devices[int(index[1])]}: {error.field[index.end() :]}" if index else error.field
            yield f"{place}: {error.message}"
