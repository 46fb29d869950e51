"""Stories of what is seldom wrong about definitions, custom resources, policies and webhooks.

Malformed input by chance has found what these ask: each has once been answered otherwise by our server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.vectors.malformed import stages, webhooks
from tests.vectors.record.apiserver.told import corner_replies as replies
from tests.vectors.record.apiserver.told import corner_texts as texts

Object = dict[str, Any]
Step = dict[str, Any]

_DRY = "?dryRun=All"
_APPLIED = "?dryRun=All&fieldManager=m&force=true"


def made() -> Iterator[Object]:
    """Make all stories; the part of their names before the colon is what they are about."""
    for number, (name, told) in enumerate(_told().items()):
        steps, hooks = told if isinstance(told, tuple) else (told, {})
        text = json.dumps({"name": name, "steps": list(steps), **({"hooks": hooks} if hooks else {})})
        yield json.loads(text.replace("$id", f"s{7_000_000 + number}"))


def _told() -> dict[str, Iterable[Step] | tuple[list[Step], Object]]:
    return {
        **{f"repeated:{name}": [_raw(kind, text)] for name, (kind, text) in texts.REPEATED.items()},
        **{f"numbers:{name}": [_raw(kind, text)] for name, (kind, text) in texts.NUMBERS.items()},
        **{
            f"schemas:{name}": [_raw(texts.DEFINITION, text) for text in _in_versions(schema)]
            for name, schema in texts.SCHEMAS.items()
        },
        "repeated:objects": _with_things(_repeated_in_objects()),
        "numbers:in rules": _numbers_in_rules(),
        "numbers:of objects": _with_things(_numbers_of_objects()),
        "patches:definitions": _patched_definitions(),
        "patches:policies": _patched_policies(),
        "patches:objects": _with_things(_patched_objects()),
        **{f"metadata:{kind}": list(_with_metadata(kind, text)) for kind, text in texts.OF_KINDS.items()},
        "metadata:objects": _with_things(_objects_with_metadata()),
        "headers:definitions": list(_sent_otherwise("POST", stages.PATHS[texts.DEFINITION], texts.definition())),
        "headers:policies": list(_sent_otherwise("POST", stages.PATHS[texts.POLICY], texts.policy())),
        "headers:objects": _with_things(_objects_sent_otherwise()),
        "reviews:access": [_review(text) for text in texts.REVIEWS],
        "numbers:of webhooks": _numbers_of_webhooks(),
        "types:definitions": [
            _raw(texts.DEFINITION, texts.definition().replace(texts.TYPE, of)) for of in texts.OF_TYPES
        ],
        "types:policies": [_raw(texts.POLICY, texts.policy().replace(texts.POLICY_TYPE, of)) for of in texts.OF_TYPES],
        "types:objects": _with_things(_typed_objects()),
        "scales:replaced": _with_things(_scaled()),
        "scales:of nothing": _with_things(_scaled_from_nothing()),
        "replies:admission": _admitting(replies.ADMISSION_REPLIES),
        "replies:types": _admitting(replies.TYPED_REPLIES),
        "replies:types of v1beta1": _admitting(replies.TYPED_REPLIES, version="v1beta1"),
        "replies:admission of updates": _admitting_updates(),
        "replies:admission of definitions": _admitting_definitions(),
        "replies:conversion": _converting(),
    }


def _with_things(steps: Iterable[Step]) -> list[Step]:
    """Define a kind of which a field may be anything, create one object, and clean up after what follows."""
    definition = _of_things()
    created = _write("POST", '{"spec":{"i":1}}', name="o")
    return [*stages.defined(definition), {**created, "vital": True}, *steps, *stages.removed(definition)]


def _of_things() -> Object:
    spec = {
        "a": {"x-kubernetes-preserve-unknown-fields": True},
        "n": {"type": "number"},
        "i": {"type": "integer"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    definition: Object = json.loads(texts.definition(json.dumps(schema)))
    definition["spec"]["versions"][0]["subresources"] = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.i", "statusReplicasPath": ".status.i"},
    }
    return definition


def _numbers_in_rules() -> list[Step]:
    """Have a rule compare numbers that are whole, and may not be written so."""
    values = {"i": {"type": "integer"}, "n": {"type": "number"}, "u": {"x-kubernetes-int-or-string": True}}
    rules = [{"rule": rule} for rule in ("!has(self.i) || self.i <= 2", "!has(self.n) || self.n <= 2.0")]
    spec = {"type": "object", "properties": values, "x-kubernetes-validations": rules}
    schema = {"type": "object", "properties": {"spec": spec}}
    definition = json.loads(texts.definition(json.dumps(schema)))
    created = {**_write("POST", '{"spec":{"i":1}}', name="o"), "vital": True}
    told = [*stages.defined(definition), created]
    for number in texts.ODD_NUMBERS:
        for text in (f'{{"spec":{{"{field}":{number}}}}}' for field in values):
            told.append(_write("POST", text, query=_DRY))
            told.append(_write("PATCH", text, kind=texts.MERGE, query=_DRY))
            told.append(_apply(text))
    return [*told, *stages.removed(definition)]


def _numbers_of_webhooks() -> list[Step]:
    """Write numbers that are whole, and may not be written so, where a Go type has an integer."""
    hook = {"name": "a.b.example.com", "clientConfig": {"url": "https://a.example"}, "sideEffects": "None"}
    configured = stages.configuration(
        "ValidatingWebhookConfiguration", "$id", {**hook, "admissionReviewVersions": ["v1"]}
    )
    path, told = stages.path_of(configured), [stages.post(configured, vital=True)]
    for number in ("1.0", "1e1", "1.5", "1E400", "-1.0", "2147483648", "4294967297.0", "9223372036854775808", "1e20"):
        webhook = json.dumps(configured["webhooks"][0])[:-1] + f',"timeoutSeconds":{number}}}'
        typed = f'"apiVersion":"{configured["apiVersion"]}","kind":"{configured["kind"]}","metadata":{{"name":"$id"}}'
        told.append(_patch(path + _DRY, f'{{"webhooks":[{webhook}]}}', texts.STRATEGIC))
        told.append(_patch(path + _APPLIED, f'{{{typed},"webhooks":[{webhook}]}}', texts.APPLY))
    return [*told, *stages.removed(configured)]


def _write(method: str, text: str, *, name: str = "x", kind: str = "", below: str = "", query: str = "") -> Step:
    """Write an object of the kind; ``kind`` of a patch is its content type."""
    path = stages.objects_path(json.loads(texts.definition()))
    if method != "PATCH":
        metadata = f'"metadata":{{"name":"{name}"}},' if '"metadata"' not in text else ""
        text = '{"apiVersion":"$id.example.com/v1","kind":"Thing",' + metadata + text[1:]
    if method != "POST":
        path += f"/o{below}"
    headers = {"headers": {"Content-Type": kind}} if kind else {}
    return {"method": method, "path": path + query, "raw": text, **headers}


def _apply(text: str) -> Step:
    """Apply a configuration of the object ``o``, which does not say of which type it is."""
    typed = f'{{"apiVersion":"$id.example.com/v1","kind":"Thing",{text[1:]}'
    return _write("PATCH", typed, kind=texts.APPLY, query=_APPLIED)


def _numbers_of_objects() -> Iterator[Step]:
    for number in texts.ODD_NUMBERS:
        for text in (f'{{"spec":{{"a":{number}}}}}', f'{{"spec":{{"i":{number}}}}}', f'{{"spec":{{"n":{number}}}}}'):
            yield _write("POST", text, query=_DRY)
            yield _write("PATCH", text, kind=texts.MERGE, query=_DRY)
            yield _apply(text)
        yield _write("PATCH", f'[{{"op":"add","path":"/spec/a","value":{number}}}]', kind=texts.OPERATIONS, query=_DRY)
        yield _write("PATCH", f'[{{"op":"test","path":"/spec/i","value":{number}}}]', kind=texts.OPERATIONS, query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","labels":{{"a":{number}}}}}}}', query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","generation":{number}}}}}', query=_DRY)
        yield _write("POST", f'{{"unknown":{number}}}', query=_DRY)


def _repeated_in_objects() -> Iterator[Step]:
    for text in texts.REPEATED_OBJECTS:
        yield _write("POST", text, query=_DRY)
        yield _write("PUT", text.replace("{", '{"metadata":{"name":"o"},', 1), query=_DRY)
        yield _write("PATCH", text, kind=texts.MERGE, query=_DRY)
        yield _write("PATCH", text, kind=texts.MERGE, query=f"{_DRY}&fieldValidation=Ignore")
        # A real server warns twice of what a JSON patch repeats.
        operation = f'[{{"op":"add","path":"/spec","value":{text}}}]'
        yield _write("PATCH", operation, kind=texts.OPERATIONS, query=f"{_DRY}&fieldValidation=Ignore")
        yield _apply(text)


def _patched_definitions() -> list[Step]:
    definition = json.loads(texts.definition())
    path = stages.path_of(definition)
    told = [*_patched(path, texts.PATCHED), *_patched(f"{path}/status", texts.PATCHED)]
    for schema in texts.APPLIED_SCHEMAS:
        told.append(_patch(path + _APPLIED, texts.definition(schema), texts.APPLY))
        told.append(_patch(f"{path}/status{_APPLIED}", texts.definition(schema, more=',"status":{}'), texts.APPLY))
    return [stages.post(definition, vital=True), stages.established(definition), *told, *stages.removed(definition)]


def _patched_policies() -> list[Step]:
    policy = json.loads(texts.policy())
    path = stages.path_of(policy)
    return [stages.post(policy, vital=True), *_patched(path, texts.PATCHED), *stages.removed(policy)]


def _typed_objects() -> Iterator[Step]:
    path = stages.objects_path(json.loads(texts.definition()))
    for of in texts.OF_TYPES:
        for metadata in ('{"name":"o"}', '{"name":"o","labels":1}', '{"name":["o"]}'):
            text = f'{{{of}"metadata":{metadata},"spec":{{"i":1}}}}'
            yield {"method": "POST", "path": path + _DRY, "raw": text}
            for below in ("", "/status", "/scale"):
                yield {"method": "PUT", "path": f"{path}/o{below}{_DRY}", "raw": text}


def _patched_objects() -> Iterator[Step]:
    path = stages.objects_path(json.loads(texts.definition())) + "/o"
    for below in ("", "/status"):
        yield from _patched(path + below, (*texts.PATCHED, '{"apiVersion":null,"metadata":{"name":["a"]}}'))
    # A Scale is shown with managed fields, which ours leaves out.
    yield from _patched(f"{path}/scale", texts.PATCHED, is_strict=False)
    for text in texts.SCALED:
        yield _patch(f"{path}/scale{_APPLIED}", text, texts.APPLY)


def _with_metadata(kind: str, text: str) -> Iterator[Step]:
    """Create something with metadata of many forms."""
    document = json.loads(text)
    for metadata in map(json.loads, texts.METADATA):
        made = {**document, "metadata": {**document["metadata"], **metadata}}
        yield {"method": "POST", "path": stages.PATHS[kind] + _DRY, "raw": json.dumps(made)}
    yield stages.post(document, vital=True)
    for metadata in texts.METADATA:
        path = stages.path_of(document)
        yield _patch(path + _DRY, f'{{"metadata":{metadata}}}', texts.MERGE)
        named = f'{{"apiVersion":"{document["apiVersion"]}","kind":"{kind}","metadata":{metadata}}}'
        yield _patch(path + _APPLIED, named, texts.APPLY)
    yield from stages.removed(document)


def _objects_with_metadata() -> Iterator[Step]:
    for metadata in texts.METADATA:
        named = json.dumps({"name": "x", **json.loads(metadata)})
        yield _write("POST", f'{{"metadata":{named}}}', query=_DRY)
        yield _write("PATCH", f'{{"metadata":{metadata}}}', kind=texts.MERGE, query=_DRY)
        yield _apply(f'{{"metadata":{metadata}}}')


def _sent_otherwise(method: str, path: str, text: str) -> Iterator[Step]:
    """Send a body under names of types that are none, and say more that is wrong about the request."""
    for kind in texts.CONTENT_TYPES:
        sent = {"method": method, "path": path + _DRY, "headers": {"Content-Type": kind}}
        yield {**sent, "raw": text}
        yield {**sent, "raw": text, "path": f"{path}?dryRun=x"}


def _objects_sent_otherwise() -> Iterator[Step]:
    path, text = stages.objects_path(json.loads(texts.definition())), _write("POST", '{"spec":{"i":2}}')["raw"]
    yield from _sent_otherwise("POST", path, text)
    yield from _sent_otherwise("PUT", f"{path}/o", text)
    yield from _sent_otherwise("PATCH", f"{path}/o", text)


def _review(text: str) -> Step:
    """Ask what oneself may do, in a review that says of which type it is."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return {"method": "POST", "path": path, "raw": text, "pick": ["status", "allowed"]}


def _scaled() -> Iterator[Step]:
    """Replace the scale of an object by what is none, and what hardly is one."""
    path = stages.objects_path(json.loads(texts.definition())) + "/o/scale"
    for query in (_DRY, f"{_DRY}&fieldValidation=Strict", f"{_DRY}&fieldValidation=Ignore"):
        for text in texts.SCALES:
            yield {"method": "PUT", "path": path + query, "raw": text}


def _scaled_from_nothing() -> Iterator[Step]:
    """Change the scale of an object that has no replicas."""
    path = stages.objects_path(json.loads(texts.definition()))
    for number, spec in enumerate(("{}", '{"spec":{}}', '{"spec":null}', '{"spec":{"s":"a"}}')):
        scale = f"{path}/n{number}/scale"
        yield _write("POST", spec, name=f"n{number}")
        for patch in texts.SCALED_FROM_NOTHING:
            yield _patch(scale + _DRY, patch, texts.OPERATIONS if patch.startswith("[") else texts.MERGE)
        yield {"method": "GET", "path": scale}
        yield _patch(scale, '{"spec":{"replicas":2}}', texts.MERGE)
        yield {"method": "GET", "path": f"{path}/n{number}", "keep": ["managedFields"]}


def _patched(path: str, given: Iterable[str], *, is_strict: bool = True) -> Iterator[Step]:
    """Patch something in ways that make no object of it, or another one."""
    for text in given:
        for kind in (texts.STRATEGIC, texts.MERGE):
            yield _patch(path + _DRY, text, kind)
        if is_strict:
            yield _patch(f"{path}{_DRY}&fieldValidation=Strict", text, texts.MERGE)
    for text in texts.OPERATED:
        yield _patch(path + _DRY, text, texts.OPERATIONS)


def _patch(path: str, text: str, kind: str) -> Step:
    return {"method": "PATCH", "path": path, "raw": text, "headers": {"Content-Type": kind}}


def _admitting(given: Iterable[str], *, version: str = "v1") -> tuple[list[Step], Object]:
    """Tell of a webhook, asked in a version of the review, that answers to each object otherwise."""
    hook = stages.webhook("a", "$id", "$id.example.com", "things", timeout=10)
    hook["admissionReviewVersions"] = [version]
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(given)}
    asked = [
        {**_write("POST", '{"spec":{"i":1}}', name=name), "reply": script["filled"]} for name, script in scripts.items()
    ]
    definition = _of_things()
    told, hooks = _admitted(stages.defined(definition), hook, asked, scripts)
    return [*told, *stages.removed(definition)], hooks


def _admitting_updates() -> tuple[list[Step], Object]:
    """Tell of a webhook that changes objects where they are updated."""
    hook = stages.webhook("a", "$id", "$id.example.com", "things", timeout=10)
    hook["rules"][0]["resources"] = ["things", "things/status"]
    # Of metadata that is malformed and wrong, too, ours says the first alone.
    all_of = zip(replies.OF_PATCHES, replies.OF_WEBHOOKS, strict=True)
    told_of = [text for text, patch in all_of if patch not in replies.MALFORMED_AND_WRONG]
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(told_of)}
    created = [{**_write("POST", '{"spec":{"i":1}}', name=name), "vital": True} for name in scripts]
    asked: list[Step] = []
    for name, script in scripts.items():
        for below in ("", "/status"):
            patched = _write("PATCH", '{"metadata":{"labels":{"c":"d"}}}', kind=texts.MERGE, below=below, query=_DRY)
            asked.append({**patched, "path": patched["path"].replace("/o", f"/{name}", 1), "reply": script["filled"]})
    definition = _of_things()
    told, hooks = _admitted([*stages.defined(definition), *created], hook, asked, scripts)
    return [*told, *stages.removed(definition)], hooks


def _admitting_definitions() -> tuple[list[Step], Object]:
    """Tell of a webhook that changes definitions."""
    hook = stages.webhook("a", "$id", "apiextensions.k8s.io", "customresourcedefinitions", timeout=10)
    hook["objectSelector"] = {"matchLabels": {"by": "$id"}}
    scripts = {f"o{number}.$id.example.com": {"filled": text} for number, text in enumerate(replies.OF_PATCHES)}
    asked = []
    for name, script in scripts.items():
        definition = json.loads(texts.definition())
        definition["metadata"] = {"name": name, "labels": {"by": "$id"}}
        definition["spec"]["names"]["plural"] = name.partition(".")[0]
        asked.append({**_raw(texts.DEFINITION, json.dumps(definition)), "reply": script["filled"]})
    return _admitted([], hook, asked, scripts)


def _admitted(
    before: list[Step], hook: Object, asked: list[Step], scripts: Mapping[str, Object]
) -> tuple[list[Step], Object]:
    """Have a hook look at what is asked, by a script for each name, once all know of it."""
    configured = stages.configuration("MutatingWebhookConfiguration", "$id", hook)
    seen, left = stages.webhooks_seen("$id")
    denied = {"response": {"allowed": False, "status": {"message": "probe"}}}
    told = [*before, stages.post(configured, vital=True), *seen, *asked, *left, *stages.removed(configured)]
    return told, {"a": {"named": scripts}, "probev": denied, "probem": denied}


def _converting() -> tuple[list[Step], Object]:
    """Tell of a program that converts each object otherwise."""
    definition = webhooks.converted_definition("$id")
    old, new = (stages.objects_path(definition, version) for version in ("v1", "v2"))
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(replies.CONVERSION_REPLIES)}
    told = stages.defined(definition)
    for name, script in scripts.items():
        body = {"apiVersion": "$id.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}}
        told.append({"method": "POST", "path": old, "body": body, "vital": True})
        told.append({"method": "GET", "path": f"{new}/{name}", "reply": script["filled"]})
    return [*told, *stages.removed(definition)], {"c": {"named": scripts}}


def _raw(kind: str, text: str) -> Step:
    return {"method": "POST", "path": stages.PATHS[kind] + _DRY, "raw": text}


def _in_versions(schema: str) -> tuple[str, str]:
    """Write a definition with a schema, and one with a status, where fewer fields may stand at the root of it."""
    return texts.definition(schema), texts.definition(schema, version='"subresources":{"status":{}},')
