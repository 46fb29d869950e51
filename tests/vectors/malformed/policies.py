"""Stories of malformed policies and bindings: stored ones, and ones at work on objects."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from tests.vectors.malformed import damage, requests, seeds, stages, trees, vocabulary

Step = dict[str, Any]

_KINDS = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
_BINDINGS = tuple(f"{kind}Binding" for kind in _KINDS)
_AT_WORK = 12
_DOCUMENTS = 5
# Objects that each policy at work is asked about.
_OBJECTS = 3


def stored(number: int, chance: Random) -> list[Step]:
    """Tell a story of documents that nothing is done with; ``asked`` are the steps with malformed ones.

    No policy has a binding here, and no binding a policy.
    """
    told = []
    for part in range(_DOCUMENTS):
        kind = chance.choice((*_KINDS, *_KINDS, *_BINDINGS))
        base = seeds.document(kind, seeds.identity(number, 2 * part), chance)
        other = seeds.document(kind, seeds.identity(number, 2 * part + 1), chance)
        path = stages.path_of(base)
        told += [_malformed(requests.dry(stages.post(base)), chance) for _ in range(2)]
        told += [_of_its_name(other, chance), *stages.removed(other), stages.post(base)]
        for _ in range(2):
            step = stages.put(path, base, "read")
            if chance.random() < 0.6:
                step = {**step, "method": "PATCH", "body": base}
            told += [stages.fetched(path, "read"), _malformed(step, chance)]
        told += stages.removed(base)
    return told


def at_work(number: int, chance: Random) -> list[Step]:
    """Tell a story of policies and bindings that objects meet, of which one is malformed in each pair.

    Each pair is for the objects with a label of its own.
    """
    name, kind = seeds.identity(number), chance.choice(_KINDS)
    definition, recorded = _recorded(kind, name, chance)
    bodies = seeds.documents(definition["spec"]["names"]["kind"], recorded)
    told, made = stages.defined(definition), [definition]
    for part in range(_AT_WORK):
        policy, binding = _pair(kind, recorded, f"{name}-{part}")
        malformed, right = (policy, binding) if chance.random() < 0.8 else (binding, policy)
        _confine(right, f"{name}-{part}")
        changed = _still_confined(malformed, right, chance)
        told += [
            {**stages.post(policy), **({"raw": changed, "asked": "policies"} if malformed is policy else {})},
            {**stages.post(binding), **({"raw": changed, "asked": "policies"} if malformed is binding else {})},
        ]
        made += [policy, binding]
    pair = _pair(kind, recorded, f"{name}-right")
    _confine(pair[1], f"{name}-right")
    seen, left = stages.policies_seen(f"{name}-probe")
    told += [*map(stages.post, pair), *seen]
    if kind == "MutatingAdmissionPolicy":
        # A server has to learn the types of the kind first.
        ask = requests.dry(_labelled(stages.objects_path(definition), bodies[0], f"{name}-right"))
        told.append({"wait": {**ask, "notcode": 503, "timeout": 150}})
    made += pair
    for part in range(_AT_WORK):
        for body in chance.sample(bodies, min(len(bodies), _OBJECTS)):
            told.append(_labelled(stages.objects_path(definition), body, f"{name}-{part}"))
    return [*told, *left, *stages.removed(*made)]


def _recorded(kind: str, name: str, chance: Random) -> tuple[Step, Step]:
    """Choose a story with a definition, a policy of a kind and objects; returns the definition, too."""
    while True:
        story = seeds.story(("vap",) if kind == _KINDS[0] else ("map",), name, chance)
        definitions = seeds.documents("CustomResourceDefinition", story)
        bindings = seeds.documents(f"{kind}Binding", story)
        if definitions and seeds.documents(kind, story) and bindings:
            (definition, *_) = definitions
            if seeds.documents(definition["spec"]["names"]["kind"], story):
                return definition, story


def _pair(kind: str, story: Step, name: str) -> tuple[Step, Step]:
    """Copy the first policy and binding of a story, under another name."""
    policy, binding = (copy.deepcopy(seeds.documents(each, story)[0]) for each in (kind, f"{kind}Binding"))
    policy["metadata"]["name"] = binding["metadata"]["name"] = binding["spec"]["policyName"] = name
    return policy, binding


def _confine(document: Step, name: str) -> None:
    """Have a policy or a binding match only objects with a label."""
    spec = document["spec"]
    place = spec.setdefault("matchResources" if "policyName" in spec else "matchConstraints", {})
    place["objectSelector"] = {"matchLabels": {"pair": name}}


def _still_confined(document: Step, partner: Step, chance: Random) -> str:
    """Damage a document in its spec, so that it still belongs to its partner, and to no other."""
    while True:
        spec = damage.damaged(document["spec"], vocabulary.POLICY, chance)
        bound = {**document["spec"], **spec} if isinstance(spec, dict) else {}
        if "policyName" not in partner["spec"] and bound.get("policyName") != partner["metadata"]["name"]:
            continue
        return trees.text({**document, "spec": spec})


def _labelled(path: str, body: Step, name: str) -> Step:
    metadata = body.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), "pair": name}
    body = {**body, "metadata": {**metadata, "name": f"{metadata.get('name', 'x')}-{name}", "labels": labels}}
    return {"method": "POST", "path": path, "body": body, "effect": "policies"}


def _malformed(step: Step, chance: Random) -> Step:
    return {**requests.damaged(step, vocabulary.POLICY, chance), "asked": "policies"}


def _of_its_name(document: Step, chance: Random) -> Step:
    """Store a malformed document that has the name it should have, since others are of other stories."""
    name = document["metadata"]["name"]
    while True:
        tree = damage.damaged(document, vocabulary.POLICY, chance)
        metadata = tree.get("metadata") if isinstance(tree, dict) else None
        if isinstance(metadata, dict) and metadata.get("name") == name:
            return {**stages.post(document), "raw": trees.text(tree), "asked": "policies"}
