"""Stories of malformed webhooks: their configurations, and what they answer to admission and conversion reviews."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.vectors.malformed import damage, replies, requests, seeds, stages, trees, vocabulary

Step = dict[str, Any]

_KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_DOCUMENTS = 5
_REPLIES = 24
_TIMEOUT_SECONDS = 2


def stored(number: int, chance: Random) -> list[Step]:
    """Tell a story of configurations; ``asked`` are the steps with malformed ones.

    Only those are stored that are about resources of nobody else.
    """
    told = []
    for part in range(_DOCUMENTS):
        name = seeds.identity(number, 2 * part)
        base = seeds.document(chance.choice(_KINDS), name, chance)
        path = stages.path_of(base)
        told += [_malformed(requests.dry(stages.post(base)), chance) for _ in range(2)]
        _confine(base, name)
        other = json.loads(json.dumps(base).replace(name, seeds.identity(number, 2 * part + 1)))
        told += [_still_confined(other, chance), *stages.removed(other), stages.post(base)]
        for _ in range(2):
            step = stages.put(path, base, "read")
            if chance.random() < 0.6:
                step = {**step, "method": "PATCH", "body": base}
            told += [stages.fetched(path, "read"), _malformed(requests.dry(step), chance)]
        told += stages.removed(base)
    return told


def admitting(number: int, chance: Random) -> tuple[list[Step], dict[str, Any]]:
    """Tell a story of webhooks that answer wrongly; ``asked`` are the steps for which they are asked."""
    name = seeds.identity(number)
    definition = _definition(name, chance)
    kind = chance.choice(_KINDS)
    plural, group = definition["spec"]["names"]["plural"], definition["spec"]["group"]
    hook = stages.webhook("a", name, group, plural, timeout=_TIMEOUT_SECONDS)
    hook["failurePolicy"] = chance.choice(("Fail", "Fail", "Fail", "Ignore"))
    hook["admissionReviewVersions"] = chance.choice((["v1"], ["v1"], ["v1beta1"]))
    configured = stages.configuration(kind, name, hook)
    seen, left = stages.webhooks_seen(name)
    told = [*stages.defined(definition), stages.post(configured, vital=True), *seen]
    body = _body(definition)
    path = stages.objects_path(definition)
    scripts = {}
    for part in range(_REPLIES):
        made = {**body, "metadata": {"name": f"o{part}", "labels": {"a": "b"}}}
        scripts[f"o{part}"] = replies.admission(made, chance)
        told.append({"method": "POST", "path": path, "body": made, "asked": "webhook answers"})
    denied = {"response": {"allowed": False, "status": {"message": "probe"}}}
    hooks = {"a": {"named": scripts}, "probev": denied, "probem": denied}
    return [*told, *left, *stages.removed(definition, configured)], hooks


def converting(number: int, chance: Random) -> tuple[list[Step], dict[str, Any]]:
    """Tell a story of a program that converts wrongly; ``asked`` are the steps for which it is asked."""
    name = seeds.identity(number)
    definition = converted_definition(name)
    told = stages.defined(definition)
    scripts = {}
    for part in range(_REPLIES):
        spec = {"a": "x", "n": part, "any": {"b": [1, None]}}
        body = {"apiVersion": f"{name}.example.com/v1", "kind": "Thing", "metadata": {"name": f"o{part}"}, "spec": spec}
        scripts[f"o{part}"] = replies.conversion({"spec": spec}, chance)
        told += _asked(definition, body, chance)
    return [*told, *stages.removed(definition)], {"c": {"named": scripts}}


def _asked(definition: Step, body: Step, chance: Random) -> list[Step]:
    """Have an object converted: when it is read, or when it is written."""
    paths = [stages.objects_path(definition, version) for version in ("v1", "v2")]
    named = [f"{path}/{body['metadata']['name']}" for path in paths]
    newer = {**body, "apiVersion": body["apiVersion"].replace("/v1", "/v2")}
    create = {"method": "POST", "path": paths[0], "body": body}
    patch = {"method": "PATCH", "path": named[1], "headers": {"Content-Type": "application/merge-patch+json"}}
    last = chance.choice(
        (
            {"method": "GET", "path": named[1]},
            {**patch, "body": {"spec": {"n": 77}}},
            {"method": "PUT", "path": named[1], "body": newer},
            {"method": "POST", "path": paths[1], "body": newer},
            {"method": "DELETE", "path": named[1]},
        )
    )
    before = [] if last["method"] == "POST" else [create]
    return [*before, {**last, "asked": "conversion answers"}, {"method": "GET", "path": named[0]}]


def _definition(name: str, chance: Random) -> Step:
    """Choose a definition of one version that has subresources and the like, of a story with webhooks."""
    while True:
        found = seeds.documents("CustomResourceDefinition", seeds.story(("webhook",), name, chance))
        if found and len(found[0]["spec"]["versions"]) == 1:
            return found[0]


def _body(definition: Step) -> Step:
    spec = definition["spec"]
    return {"apiVersion": f"{spec['group']}/{spec['versions'][0]['name']}", "kind": spec["names"]["kind"], "spec": {}}


def converted_definition(name: str) -> Step:
    """Make a definition of two versions, between which the hook ``c`` of the story converts."""
    spec = {"a": {"type": "string"}, "n": {"type": "integer"}, "any": {"x-kubernetes-preserve-unknown-fields": True}}
    properties = {"spec": {"type": "object", "properties": spec}, "status": {"type": "object"}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    versions = [{"name": f"v{n}", "served": True, "storage": n == 1, "schema": schema} for n in (1, 2)]
    client = {"url": "${hook}/c", "caBundle": "${hookca}"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{name}.example.com"},
        "spec": {
            "group": f"{name}.example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def _confine(document: Step, name: str) -> None:
    for webhook in document["webhooks"]:
        webhook["objectSelector"] = {"matchLabels": {"confined": name}}


def _malformed(step: Step, chance: Random) -> Step:
    return {**requests.damaged(step, vocabulary.WEBHOOK, chance), "asked": "webhook configurations"}


def _still_confined(document: Step, chance: Random) -> Step:
    """Damage a configuration so that it has its name, and selects only what nobody else makes."""
    selectors = [webhook["objectSelector"] for webhook in document["webhooks"]]
    while True:
        tree = damage.damaged(document, vocabulary.WEBHOOK, chance)
        text = trees.text(tree)
        try:
            read = json.loads(text)
            if read["metadata"]["name"] == document["metadata"]["name"] and all(
                webhook["objectSelector"] in selectors for webhook in read["webhooks"]
            ):
                return {**stages.post(document), "raw": text, "asked": "webhook configurations"}
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
