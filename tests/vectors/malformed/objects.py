"""Stories of malformed custom resources: recorded ones, in which requests are followed by others that are wrong."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.vectors.malformed import damage, requests, seeds, stages, vocabulary

Step = dict[str, Any]

_FAMILIES = ("cr-", "cel-rules", "cel-transition", "cel-lib", "ssa", "versions", "lifecycle")
_MOST = 24
_CREATED = 201
# One in ten is a strategic one, which no custom resource takes.
_PATCHES = (*requests.PATCHES * 3, requests.STRATEGIC)
_SCHEMA_DAMAGED = 0.15


def steps(number: int, chance: Random) -> list[Step]:
    """Tell a story; ``asked`` are the steps with malformed objects."""
    recorded = seeds.story(_FAMILIES, seeds.identity(number), chance)["steps"]
    own = f"/apis/{seeds.identity(number)}."
    writes = [step for step in recorded if _is_write(step) and step["path"].startswith(own)]
    chosen = {id(step) for step in chance.sample(writes, min(len(writes), _MOST // 3))}
    told: list[Step] = []
    for count, step in enumerate(recorded):
        if "watch" in step:
            continue
        told.append({key: value for key, value in step.items() if key not in ("response", "sleep")})
        if step.get("vital") and chance.random() < _SCHEMA_DAMAGED:
            told[-1]["body"] = _with_damaged_schema(step["body"], chance)
        if id(step) in chosen:
            told += [each for _ in range(3) for each in _malformed(step, f"m{count}", chance)]
    return told


def _is_write(step: Step) -> bool:
    if step.get("vital") or step.get("cleanup") or not isinstance(step.get("body"), dict):
        return False
    return step.get("method") in ("POST", "PUT", "PATCH")


def _with_damaged_schema(definition: Step, chance: Random) -> Step:
    """Damage a schema, and nothing else of a definition; a document of another kind stays as it is."""
    versions = definition.get("spec", {}).get("versions")
    if definition.get("kind") != "CustomResourceDefinition" or not versions:
        return definition
    version = chance.choice(versions)
    schema = version.get("schema", {}).get("openAPIV3Schema")
    if schema:
        version["schema"] = {"openAPIV3Schema": damage.damaged(schema, vocabulary.DEFINITION, chance)}
    return definition


def _malformed(step: Step, name: str, chance: Random) -> list[Step]:
    """Make a malformed request of a right one: of the same sort, or another write of the object that it made."""
    before = []
    made = _created(step)
    if made and chance.random() < 0.6:
        path = step["path"].partition("?")[0] + f"/{made}" + chance.choice((*[""] * 10, "/status", "/scale"))
        if chance.random() < 0.4:
            before = [stages.fetched(path.removesuffix("/status").removesuffix("/scale"), name)]
            step = stages.put(path, step["body"], name)
        else:
            step = {"method": "PATCH", "path": path, "body": step["body"]}
    if chance.random() < 0.4 and "dryRun" not in step["path"]:
        step = requests.dry(step)
    return [*before, {**requests.damaged(step, vocabulary.OBJECT, chance, patches=_PATCHES), "asked": "objects"}]


def _created(step: Step) -> str:
    """Return the name of the object that a step has created, "" if none."""
    if step["method"] != "POST" or step.get("response", {}).get("code") != _CREATED or "dryRun" in step["path"]:
        return ""
    name = (step["body"].get("metadata") or {}).get("name")
    return name if isinstance(name, str) else ""
