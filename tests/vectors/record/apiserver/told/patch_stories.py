"""Stories of ResourceSlicePatches, and what a real server answers to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.vectors import recordings, slice_patches
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.apiserver.told import patch_bodies
from tests.vectors.record.outcome import Outcome, of_lines
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import Player

Object = dict[str, Any]
Step = dict[str, Any]

_PATCHES = "/apis/resource.drakit.dev/v1alpha3/resourceslicepatches"
_DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/resourceslicepatches.resource.drakit.dev"
_DOCUMENT = "/openapi/v3/apis/resource.drakit.dev/v1alpha3"
_SCHEMA = ["components", "schemas", "dev.drakit.resource.v1alpha3.ResourceSlicePatch"]
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# Seconds for a wait, and for an answer.
_PATIENCE, _BOUND = 60.0, 60.0


async def asked_again(version: str) -> Outcome:
    """All stories."""
    async with running("default", version, lasting=False) as (session, token), hooks.running() as reached:
        player = Player(session, token, reached, _PATIENCE)
        await player.told(slice_patches.prepared(), _BOUND)
        now = [await _answered(player, story) for story in made()]
    return of_lines(recordings.recorded(slice_patches.FILE), now, lambda story: str(story["name"]))


async def _answered(player: Player, story: Object) -> Object:
    found = await player.told(story, _BOUND)
    steps = zip(story["steps"], found, strict=True)
    return {**story, "steps": [_with(step, each.answer) for step, each in steps]}


def _with(step: Step, answer: Object | None) -> Step:
    """Add an answer to its step; of several causes the order is that of a Go map, and so is the message's."""
    if answer is None or step.get("cleanup"):
        return step
    if len(causes := answer.get("causes") or ()) > 1:
        answer = {**answer, "message": "", "causes": sorted(causes, key=lambda cause: sorted(cause.items()))}
    return {**step, "response": answer}


def made() -> Iterator[Object]:
    """Make all stories; the part of their names before the colon is what they are about."""
    for name, cases in patch_bodies.DEVICES.items():
        yield {"name": f"rules:{name}", "steps": [_judged(patch_bodies.of(devices)) for devices in cases]}
    yield {"name": "rules:objects", "steps": [_judged(patch) for patch in patch_bodies.ODD]}
    for name, steps in _told().items():
        yield {"name": name, "steps": steps}


def _judged(patch: Object) -> Step:
    return {"method": "POST", "path": f"{_PATCHES}?dryRun=All", "body": patch}


def _told() -> dict[str, list[Step]]:
    return {
        "fields:unknown": [*_unknown_fields()],
        "fields:rules on updates": [*_rules_on_updates()],
        "apply:a key each": [*_a_key_each()],
        "apply:a value is one thing": [*_a_value_is_one_thing()],
        "apply:filters and taints": [*_filters_and_taints()],
        "generation:of changes": [*_generations()],
        "table:columns": [*_tables()],
        "explain:schema": [_read(_DOCUMENT, wait=True), {**_read(_DOCUMENT), "pick": _SCHEMA}],
        "discovery:resource": [_read("/apis/resource.drakit.dev/v1alpha3")],
        "definition:stored": [{**_read(_DEFINITION), "pick": ["spec"]}],
    }


def _read(path: str, *, wait: bool = False) -> Step:
    """Read something, or wait until there is something to read."""
    return {"wait": {"method": "GET", "path": path, "code": 200}} if wait else {"method": "GET", "path": path}


def _create(name: str, **devices: Any) -> Step:
    return {"method": "POST", "path": _PATCHES, "body": patch_bodies.of(devices, name), "vital": True}


def _merge(name: str, body: Object) -> Step:
    headers = {"Content-Type": _MERGE}
    return {"method": "PATCH", "path": f"{_PATCHES}/{name}", "body": body, "headers": headers}


def _applied(name: str, manager: str, query: str = "", **devices: Any) -> Step:
    path, headers = f"{_PATCHES}/{name}?fieldManager={manager}{query}", {"Content-Type": _APPLY}
    body = patch_bodies.of(devices, name)
    return {"method": "PATCH", "path": path, "body": body, "headers": headers, "keep": ["managedFields"]}


def _removed(name: str) -> Step:
    return {"method": "DELETE", "path": f"{_PATCHES}/{name}", "cleanup": True}


def _unknown_fields() -> Iterator[Step]:
    """Write what the schema does not know, which goes, is warned of, or refused."""
    odd = {"attribute": {}, "attributes": {"a.b/c": {"int": 1, "quantity": "1"}, "a.b/d": {"null": {"why": "x"}}}}
    for validation in ("Ignore", "Warn", "Strict"):
        body = patch_bodies.of(odd)
        yield {"method": "POST", "path": f"{_PATCHES}?dryRun=All&fieldValidation={validation}", "body": body}


def _rules_on_updates() -> Iterator[Step]:
    name = "updated"
    yield _create(name, attributes={"a.b/c": {"int": 1}})
    for devices in ({"attributes": {"c": {"int": 1}}}, {"attributes": {"a.b/c": {"string": "x"}}}, {"priority": "1"}):
        yield _merge(name, {"spec": {"devices": devices}})
    yield _merge(name, {"spec": None})
    yield _removed(name)


def _a_key_each() -> Iterator[Step]:
    """Two managers own an attribute and a capacity each, and one leaves."""
    name = "shared"
    yield _applied(name, "first", attributes={"a.b/one": {"int": 1}}, capacity={"a.b/one": {"value": "1Gi"}})
    yield _applied(name, "second", attributes={"a.b/two": {"int": 2}}, capacity={"a.b/two": {"value": 2}})
    yield _applied(name, "second", attributes={"a.b/one": {"int": 2}})
    yield _applied(name, "first")
    yield _removed(name)


def _a_value_is_one_thing() -> Iterator[Step]:
    """A manager takes a value over, and gives it another type: nothing is left of the first."""
    name = "typed"
    policy = {"default": "1", "validValues": ["1", "2"]}
    yield _applied(
        name, "first", attributes={"a.b/c": {"int": 1}}, capacity={"a.b/c": {"value": "2", "requestPolicy": policy}}
    )
    yield _applied(name, "second", attributes={"a.b/c": {"null": {}}})
    yield _applied(name, "second", "&force=true", attributes={"a.b/c": {"null": {}}}, capacity={"a.b/c": {"value": 0}})
    yield _removed(name)


def _filters_and_taints() -> Iterator[Step]:
    name = "filtered"
    taint = {"key": "a.b/broken", "effect": "NoSchedule"}
    yield _applied(name, "first", filter={"driver": "a.b"}, taints=[taint], priority=1)
    yield _applied(name, "second", filter={"pool": "n1", "selectors": [patch_bodies.selector("true")]})
    yield _applied(name, "second", filter={"selectors": []}, taints=[{**taint, "effect": "NoExecute"}])
    yield _applied(name, "second", "&force=true", taints=[{**taint, "effect": "NoExecute"}])
    yield _removed(name)


def _generations() -> Iterator[Step]:
    name = "counted"
    yield _create(name, priority=1)
    yield _merge(name, {"metadata": {"labels": {"a": "b"}}})
    yield _merge(name, {"spec": {"devices": {"priority": 1}}})
    yield _merge(name, {"spec": {"devices": {"priority": 2}}})
    yield _merge(name, {"metadata": {"generation": 7}})
    yield _merge(name, {"status": {"a": "b"}})
    yield {**_merge(name, {"status": {"a": "b"}}), "path": f"{_PATCHES}/{name}/status"}
    yield _removed(name)


def _tables() -> Iterator[Step]:
    everything = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "deviceClassName": "gpu"}
    for name, devices in (("t1", {"filter": everything, "priority": -3}), ("t2", {}), ("t3", {"filter": {}})):
        yield _create(name, **devices)
        yield {"method": "GET", "path": f"{_PATCHES}/{name}", "headers": {"Accept": _TABLE}}
    yield from map(_removed, ("t1", "t2", "t3"))
