"""Stories of what is seldom wrong about definitions, custom resources, policies and webhooks.

Malformed input by chance has found what these ask: each has once been answered otherwise by our server.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.vectors.malformed import stages, webhooks

Object = dict[str, Any]
Step = dict[str, Any]

_DRY = "?dryRun=All"
_APPLIED = "?dryRun=All&fieldManager=m&force=true"
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_OPERATIONS, _STRATEGIC = "application/json-patch+json", "application/strategic-merge-patch+json"


def made() -> Iterator[Object]:
    """Make all stories; the part of their names before the colon is what they are about."""
    for number, (name, told) in enumerate(_told().items()):
        steps, hooks = told if isinstance(told, tuple) else (told, {})
        text = json.dumps({"name": name, "steps": list(steps), **({"hooks": hooks} if hooks else {})})
        yield json.loads(text.replace("$id", f"s{7_000_000 + number}"))


def _told() -> dict[str, Iterable[Step] | tuple[list[Step], Object]]:
    return {
        **{f"repeated:{name}": [_raw(kind, text)] for name, (kind, text) in _REPEATED.items()},
        **{f"numbers:{name}": [_raw(kind, text)] for name, (kind, text) in _NUMBERS.items()},
        **{
            f"schemas:{name}": [_raw(_DEFINITION, text) for text in _in_versions(schema)]
            for name, schema in _SCHEMAS.items()
        },
        "repeated:objects": _with_things(_repeated_in_objects()),
        "numbers:in rules": _numbers_in_rules(),
        "numbers:of objects": _with_things(_numbers_of_objects()),
        "patches:definitions": _patched_definitions(),
        "patches:policies": _patched_policies(),
        "patches:objects": _with_things(_patched_objects()),
        **{f"metadata:{kind}": list(_with_metadata(kind, text)) for kind, text in _OF_KINDS.items()},
        "metadata:objects": _with_things(_objects_with_metadata()),
        "headers:definitions": list(_sent_otherwise("POST", stages.PATHS[_DEFINITION], _definition())),
        "headers:policies": list(_sent_otherwise("POST", stages.PATHS[_POLICY], _policy())),
        "headers:objects": _with_things(_objects_sent_otherwise()),
        "reviews:access": [_review(text) for text in _REVIEWS],
        "numbers:of webhooks": _numbers_of_webhooks(),
        "types:definitions": [_raw(_DEFINITION, _definition().replace(_TYPE, of)) for of in _OF_TYPES],
        "types:policies": [_raw(_POLICY, _policy().replace(_POLICY_TYPE, of)) for of in _OF_TYPES],
        "types:objects": _with_things(_typed_objects()),
        "scales:replaced": _with_things(_scaled()),
        "replies:admission": _admitting(),
        "replies:types": _typing("v1"),
        "replies:types of v1beta1": _typing("v1beta1"),
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
    definition: Object = json.loads(_definition(json.dumps(schema)))
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
    definition = json.loads(_definition(json.dumps(schema)))
    created = {**_write("POST", '{"spec":{"i":1}}', name="o"), "vital": True}
    told = [*stages.defined(definition), created]
    for number in _ODD_NUMBERS:
        for text in (f'{{"spec":{{"{field}":{number}}}}}' for field in values):
            told.append(_write("POST", text, query=_DRY))
            told.append(_write("PATCH", text, kind=_MERGE, query=_DRY))
            told.append(
                _write(
                    "PATCH",
                    f'{{"apiVersion":"$id.example.com/v1","kind":"Thing",{text[1:]}',
                    kind=_APPLY,
                    query=_APPLIED,
                )
            )
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
        told.append(_patch(path + _DRY, f'{{"webhooks":[{webhook}]}}', _STRATEGIC))
        told.append(_patch(path + _APPLIED, f'{{{typed},"webhooks":[{webhook}]}}', _APPLY))
    return [*told, *stages.removed(configured)]


def _write(method: str, text: str, *, name: str = "x", kind: str = "", below: str = "", query: str = "") -> Step:
    """Write an object of the kind; ``kind`` of a patch is its content type."""
    path = stages.objects_path(json.loads(_definition()))
    if method != "PATCH":
        metadata = f'"metadata":{{"name":"{name}"}},' if '"metadata"' not in text else ""
        text = '{"apiVersion":"$id.example.com/v1","kind":"Thing",' + metadata + text[1:]
    if method != "POST":
        path += f"/o{below}"
    headers = {"headers": {"Content-Type": kind}} if kind else {}
    return {"method": method, "path": path + query, "raw": text, **headers}


def _numbers_of_objects() -> Iterator[Step]:
    for number in _ODD_NUMBERS:
        for text in (f'{{"spec":{{"a":{number}}}}}', f'{{"spec":{{"i":{number}}}}}', f'{{"spec":{{"n":{number}}}}}'):
            yield _write("POST", text, query=_DRY)
            yield _write("PATCH", text, kind=_MERGE, query=_DRY)
            yield _write(
                "PATCH", f'{{"apiVersion":"$id.example.com/v1","kind":"Thing",{text[1:]}', kind=_APPLY, query=_APPLIED
            )
        yield _write("PATCH", f'[{{"op":"add","path":"/spec/a","value":{number}}}]', kind=_OPERATIONS, query=_DRY)
        yield _write("PATCH", f'[{{"op":"test","path":"/spec/i","value":{number}}}]', kind=_OPERATIONS, query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","labels":{{"a":{number}}}}}}}', query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","generation":{number}}}}}', query=_DRY)
        yield _write("POST", f'{{"unknown":{number}}}', query=_DRY)


def _repeated_in_objects() -> Iterator[Step]:
    for text in _REPEATED_OBJECTS:
        yield _write("POST", text, query=_DRY)
        yield _write("PUT", text.replace("{", '{"metadata":{"name":"o"},', 1), query=_DRY)
        yield _write("PATCH", text, kind=_MERGE, query=_DRY)
        yield _write("PATCH", text, kind=_MERGE, query=f"{_DRY}&fieldValidation=Ignore")
        # A real server warns twice of what a JSON patch repeats.
        operation = f'[{{"op":"add","path":"/spec","value":{text}}}]'
        yield _write("PATCH", operation, kind=_OPERATIONS, query=f"{_DRY}&fieldValidation=Ignore")
        typed = f'{{"apiVersion":"$id.example.com/v1","kind":"Thing",{text[1:]}'
        yield _write("PATCH", typed, kind=_APPLY, query=_APPLIED)


def _patched_definitions() -> list[Step]:
    definition = json.loads(_definition())
    path = stages.path_of(definition)
    told = [*_patched(path, _PATCHED), *_patched(f"{path}/status", _PATCHED)]
    for schema in _APPLIED_SCHEMAS:
        told.append(_patch(path + _APPLIED, _definition(schema), _APPLY))
        told.append(_patch(f"{path}/status{_APPLIED}", _definition(schema, more=',"status":{}'), _APPLY))
    return [stages.post(definition, vital=True), stages.established(definition), *told, *stages.removed(definition)]


def _patched_policies() -> list[Step]:
    policy = json.loads(_policy())
    path = stages.path_of(policy)
    return [stages.post(policy, vital=True), *_patched(path, _PATCHED), *stages.removed(policy)]


def _typed_objects() -> Iterator[Step]:
    path = stages.objects_path(json.loads(_definition()))
    for of in _OF_TYPES:
        for metadata in ('{"name":"o"}', '{"name":"o","labels":1}', '{"name":["o"]}'):
            text = f'{{{of}"metadata":{metadata},"spec":{{"i":1}}}}'
            yield {"method": "POST", "path": path + _DRY, "raw": text}
            for below in ("", "/status", "/scale"):
                yield {"method": "PUT", "path": f"{path}/o{below}{_DRY}", "raw": text}


def _patched_objects() -> Iterator[Step]:
    path = stages.objects_path(json.loads(_definition())) + "/o"
    for below in ("", "/status"):
        yield from _patched(path + below, (*_PATCHED, '{"apiVersion":null,"metadata":{"name":["a"]}}'))
    # A Scale is shown with managed fields, which ours leaves out.
    yield from _patched(f"{path}/scale", _PATCHED, is_strict=False)
    for text in _SCALED:
        yield _patch(f"{path}/scale{_APPLIED}", text, _APPLY)


def _with_metadata(kind: str, text: str) -> Iterator[Step]:
    """Create something with metadata of many forms."""
    document = json.loads(text)
    for metadata in map(json.loads, _METADATA):
        made = {**document, "metadata": {**document["metadata"], **metadata}}
        yield {"method": "POST", "path": stages.PATHS[kind] + _DRY, "raw": json.dumps(made)}
    yield stages.post(document, vital=True)
    for metadata in _METADATA:
        path = stages.path_of(document)
        yield _patch(path + _DRY, f'{{"metadata":{metadata}}}', _MERGE)
        named = f'{{"apiVersion":"{document["apiVersion"]}","kind":"{kind}","metadata":{metadata}}}'
        yield _patch(path + _APPLIED, named, _APPLY)
    yield from stages.removed(document)


def _objects_with_metadata() -> Iterator[Step]:
    for metadata in _METADATA:
        named = json.dumps({"name": "x", **json.loads(metadata)})
        yield _write("POST", f'{{"metadata":{named}}}', query=_DRY)
        yield _write("PATCH", f'{{"metadata":{metadata}}}', kind=_MERGE, query=_DRY)
        applied = f'{{"apiVersion":"$id.example.com/v1","kind":"Thing","metadata":{metadata}}}'
        yield _write("PATCH", applied, kind=_APPLY, query=_APPLIED)


def _sent_otherwise(method: str, path: str, text: str) -> Iterator[Step]:
    """Send a body under names of types that are none, and say more that is wrong about the request."""
    for kind in _CONTENT_TYPES:
        sent = {"method": method, "path": path + _DRY, "headers": {"Content-Type": kind}}
        yield {**sent, "raw": text}
        yield {**sent, "raw": text, "path": f"{path}?dryRun=x"}


def _objects_sent_otherwise() -> Iterator[Step]:
    path, text = stages.objects_path(json.loads(_definition())), _write("POST", '{"spec":{"i":2}}')["raw"]
    yield from _sent_otherwise("POST", path, text)
    yield from _sent_otherwise("PUT", f"{path}/o", text)
    yield from _sent_otherwise("PATCH", f"{path}/o", text)


def _review(text: str) -> Step:
    """Ask what oneself may do, in a review that says of which type it is."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return {"method": "POST", "path": path, "raw": text, "pick": ["status", "allowed"]}


def _scaled() -> Iterator[Step]:
    """Replace the scale of an object by what is none, and what hardly is one."""
    path = stages.objects_path(json.loads(_definition())) + "/o/scale"
    for query in (_DRY, f"{_DRY}&fieldValidation=Strict", f"{_DRY}&fieldValidation=Ignore"):
        for text in _SCALES:
            yield {"method": "PUT", "path": path + query, "raw": text}


def _patched(path: str, texts: Iterable[str], *, is_strict: bool = True) -> Iterator[Step]:
    """Patch something in ways that make no object of it, or another one."""
    for text in texts:
        for kind in (_STRATEGIC, _MERGE):
            yield _patch(path + _DRY, text, kind)
        if is_strict:
            yield _patch(f"{path}{_DRY}&fieldValidation=Strict", text, _MERGE)
    for text in _OPERATED:
        yield _patch(path + _DRY, text, _OPERATIONS)


def _patch(path: str, text: str, kind: str) -> Step:
    return {"method": "PATCH", "path": path, "raw": text, "headers": {"Content-Type": kind}}


def _admitting() -> tuple[list[Step], Object]:
    """Tell of a webhook that answers to each object otherwise."""
    hook = stages.webhook("a", "$id", "$id.example.com", "things", timeout=10)
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(_ADMISSION_REPLIES)}
    asked = [
        {**_write("POST", '{"spec":{"i":1}}', name=name), "reply": script["filled"]} for name, script in scripts.items()
    ]
    definition = _of_things()
    told, hooks = _admitted(stages.defined(definition), hook, asked, scripts)
    return [*told, *stages.removed(definition)], hooks


def _typing(version: str) -> tuple[list[Step], Object]:
    """Tell of a webhook, asked in a version of the review, whose replies say of which type they are, or do not."""
    hook = stages.webhook("a", "$id", "$id.example.com", "things", timeout=10)
    hook["admissionReviewVersions"] = [version]
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(_TYPED_REPLIES)}
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
    told_of = [text for text, patch in zip(_OF_PATCHES, _OF_WEBHOOKS, strict=True) if patch not in _MALFORMED_AND_WRONG]
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(told_of)}
    created = [{**_write("POST", '{"spec":{"i":1}}', name=name), "vital": True} for name in scripts]
    asked: list[Step] = []
    for name, script in scripts.items():
        for below in ("", "/status"):
            patched = _write("PATCH", '{"metadata":{"labels":{"c":"d"}}}', kind=_MERGE, below=below, query=_DRY)
            asked.append({**patched, "path": patched["path"].replace("/o", f"/{name}", 1), "reply": script["filled"]})
    definition = _of_things()
    told, hooks = _admitted([*stages.defined(definition), *created], hook, asked, scripts)
    return [*told, *stages.removed(definition)], hooks


def _admitting_definitions() -> tuple[list[Step], Object]:
    """Tell of a webhook that changes definitions."""
    hook = stages.webhook("a", "$id", "apiextensions.k8s.io", "customresourcedefinitions", timeout=10)
    hook["objectSelector"] = {"matchLabels": {"by": "$id"}}
    scripts = {f"o{number}.$id.example.com": {"filled": text} for number, text in enumerate(_OF_PATCHES)}
    asked = []
    for name, script in scripts.items():
        definition = json.loads(_definition())
        definition["metadata"] = {"name": name, "labels": {"by": "$id"}}
        definition["spec"]["names"]["plural"] = name.partition(".")[0]
        asked.append({**_raw(_DEFINITION, json.dumps(definition)), "reply": script["filled"]})
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
    scripts = {f"o{number}": {"filled": text} for number, text in enumerate(_CONVERSION_REPLIES)}
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
    return _definition(schema), _definition(schema, version='"subresources":{"status":{}},')


def _definition(schema: str = '{"type":"object"}', *, names: str = "", version: str = "", more: str = "") -> str:
    """Write a definition, with more of its names and of its version before what they have to have."""
    return (
        '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.$id.example.com"},'
        f'"spec":{{"group":"$id.example.com","scope":"Namespaced","names":{{{names}"plural":"things","singular":"thing",'
        f'"kind":"Thing","listKind":"ThingList"}},"versions":[{{{version}"name":"v1","served":true,"storage":true,'
        f'"schema":{{"openAPIV3Schema":{schema}}}}}]}}{more}}}'
    )


def _policy(validation: str = '"expression":"true"', constraints: str = "", more: str = "") -> str:
    rule = '{"apiGroups":["$id.example.com"],"apiVersions":["*"],"operations":["CREATE"],"resources":["things"]}'
    return (
        '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"$id"},"spec":{'
        f'"matchConstraints":{{{constraints}"resourceRules":[{rule}]}},{more}"validations":[{{{validation}}}]}}}}'
    )


_POLICY = "ValidatingAdmissionPolicy"
_DEFINITION = "CustomResourceDefinition"
# Each value of a repeated field is decoded, and has to be of the right type.
_REPEATED = {
    "text": (_POLICY, _policy('"expression":1,"expression":"true"')),
    "list": (_POLICY, _policy(constraints='"resourceRules":{"":""},')),
    "map": (_POLICY, _policy(constraints='"objectSelector":{"matchLabels":"x","matchLabels":{"a":"b"}},')),
    "value of a map": (_POLICY, _policy(constraints='"objectSelector":{"matchLabels":{"a":1,"a":"b"}},')),
    "struct": (_DEFINITION, _definition(version='"schema":"x",')),
    "second is wrong": (_POLICY, _policy('"expression":"true","expression":1')),
    "the first of two that are wrong": (
        _POLICY,
        _policy('"message":[],"expression":1,"message":{},"expression":"true"'),
    ),
    "metadata": (_POLICY, _policy().replace('"metadata":', '"metadata":[],"metadata":')),
    "null keeps a text": (_POLICY, _policy('"expression":"true","expression":null')),
    "null keeps a struct": (_POLICY, _policy().replace("]}}", ']},"spec":null}', 1)),
    "null takes a list": (_POLICY, _policy('"expression":"true"').replace("]}}", '],"validations":null}}', 1)),
    "null takes a pointer": (_POLICY, _policy(more='"failurePolicy":"Ignore","failurePolicy":null,')),
    "structs are filled": (
        _POLICY,
        _policy().replace('"metadata":', '"metadata":{"labels":{"a":"b"},"name":"x"},"metadata":'),
    ),
    "maps are filled": (
        _POLICY,
        _policy().replace('"name":"$id"', '"name":"$id","labels":{"a":"b","c":"d"},"labels":{"a":"e"}'),
    ),
    "lists are not": (_POLICY, _policy(more='"variables":[{"name":"a","expression":"1"}],"variables":[{"name":"b"}],')),
    "names": (_DEFINITION, _definition(names='"singular":["a",1,null,{}],')),
    "kind": (_POLICY, _policy().replace('"kind":', '"kind":1,"kind":')),
    "another kind": (_POLICY, _policy().replace('"kind":', '"kind":"Other","kind":')),
    "in a schema": (_DEFINITION, _definition('{"type":1,"type":"object"}')),
    "in a schema, a list": (_DEFINITION, _definition('{"type":"object","required":"a","required":["a"]}')),
    "in properties": (_DEFINITION, _definition('{"type":"object","properties":{"a":"x","a":{"type":"string"}}}')),
}
_SCHEMAS = {
    "no dependencies": '{"type":"object","dependencies":{}}',
    "no definitions": '{"type":"object","definitions":{},"patternProperties":{}}',
    "no items": '{"type":"object","properties":{"a":{"type":"array","items":{},"additionalItems":{}}}}',
    "empty texts": '{"type":"object","$ref":"","id":"","$schema":"","title":"","format":""}',
    "empty lists": '{"type":"object","allOf":[],"anyOf":[],"oneOf":[],"required":[],"x-kubernetes-validations":[]}',
    "an empty enum": '{"type":"object","properties":{"a":{"type":"string","enum":[]}}}',
    "keywords that repeat": '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},'
    '"x-kubernetes-list-type":"atomic","x-kubernetes-list-type":null,"nullable":true,"nullable":null,"maxItems":1,"maxItems":null}}}',
    "properties that repeat": '{"type":"object","properties":{"a":{"type":"string","maxLength":1},'
    '"b":{"type":"string"}},"properties":{"a":{"type":"string","minLength":2},"c":{"type":"string"}}}',
    "schemas that repeat": '{"type":"object","properties":{"a":{"type":"object","not":{"required":["a"]},'
    '"not":{"maxProperties":3},"externalDocs":{"url":"u"},"externalDocs":{"description":"d"}}}}',
    "items that repeat": '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","maxLength":1},'
    '"items":{"type":"string","minLength":1}}}}',
    "lists that repeat": '{"type":"object","properties":{"a":{"type":"string","enum":["a","b"],"enum":["c"],'
    '"allOf":[{"maxLength":1},{"maxLength":2}],"allOf":[{"minLength":1}]}}}',
    "rules that repeat": '{"type":"object","x-kubernetes-validations":[{"rule":"true","message":"m"},{"rule":"false"}],'
    '"x-kubernetes-validations":[{"rule":"1 == 1"}]}',
    "wrong types that repeat": '{"type":"object","maxProperties":"a","maxProperties":1,"items":1,"items":null}',
    "an embedded default": '{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,'
    '"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":null}}}}}',
    "an embedded default with labels": '{"type":"object","properties":{"a":{"type":"object",'
    '"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,'
    '"default":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":null},"unknown":1}}}}}',
    "nulls": '{"type":"object","default":null,"not":null,"items":null,"additionalProperties":null,"enum":null}',
    "null items": '{"type":"object","allOf":[null],"required":[null],"enum":[null],"properties":{"a":null}}',
}
# A patch has no say in what the type is, and yet the type has to be one.
_TYPE = '"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",'
_POLICY_TYPE = '"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",'
# What an object may say of its type.
_OF_TYPES = (
    "",
    *(
        f'"apiVersion":{version},"kind":{kind},'
        for kind in ('"Thing"', '"CustomResourceDefinition"', '"Scale"')
        for version in (
            "null",
            '""',
            '"/"',
            '"v1"',
            '"/v1"',
            '"v1/"',
            '"$id.example.com/"',
            '"$id.example.com"',
            '"//"',
            '"\\"a\\""',
            "1",
        )
    ),
    *(f'"apiVersion":"$id.example.com/v1","kind":{kind},' for kind in ("null", '""', "1", '"thing"', '"\\"a\\""')),
    '"apiVersion":"$id.example.com/v1",',
    '"kind":"Thing",',
    *(
        f'"apiVersion":{version},{kinds}'
        for version, kind in (
            ('"$id.example.com/v1"', "Thing"),
            ('"apiextensions.k8s.io/v1"', "CustomResourceDefinition"),
            ('"admissionregistration.k8s.io/v1"', "ValidatingAdmissionPolicy"),
        )
        for kinds in (
            f'"kind":"{kind}","KIND":"Other",',
            f'"KIND":"Other","kind":"{kind}",',
            f'"kind":null,"KIND":"{kind}",',
            f'"KIND":"{kind}","kind":null,',
            f'"KIND":"{kind}",',
            f'"kind":"{kind}","KIND":1,',
            f'"kind":"{kind}","APIVERSION":"other/v1",',
            f'"kind":"{kind}","APIVERSION":"a/b/c",',
        )
    ),
)
_REPEATED_OBJECTS = (
    '{"spec":{"i":1},"spec":{"n":2}}',
    '{"spec":{"i":1},"spec":null}',
    '{"spec":null,"spec":{"n":2}}',
    '{"spec":{"i":"a"},"spec":{"n":2}}',
    '{"spec":{"a":{"b":1},"a":{"c":2}}}',
    '{"spec":{"a":{"b":{"c":1}},"n":1,"a":{"b":{"d":2}}}}',
    '{"spec":{"a":{"b":1,"b":{"c":1}}}}',
    '{"spec":{"a":[{"b":{"c":1},"b":{"d":1}}]}}',
    '{"spec":{"a":[1],"a":[2,3]}}',
    '{"metadata":{"labels":{"a":"b"},"labels":{"c":"d"}},"spec":{"i":3}}',
    '{"metadata":{"labels":{"a":"b"}},"metadata":{"labels":{"c":"d"}},"spec":{"i":3}}',
    '{"metadata":{"name":"o"},"metadata":{"labels":{"c":"d"}},"spec":{"i":3}}',
    '{"metadata":{"name":"o","annotations":{"a":"b"},"annotations":{"a":"c"}}}',
)
_PATCHED = (
    '{"kind":{"type":"string"}}',
    '{"kind":"Other"}',
    '{"kind":""}',
    '{"kind":null}',
    '{"kind":1}',
    '{"kind":["a"]}',
    '{"apiVersion":[{},{}]}',
    '{"apiVersion":"other/v1"}',
    '{"apiVersion":"a/b/c"}',
    '{"apiVersion":null}',
    '{"apiVersion":"/"}',
    '{"apiVersion":"/","metadata":{"name":null}}',
    '{"apiVersion":null,"metadata":{"name":""}}',
    '{"apiVersion":"\\"a\\""}',
    '{"metadata":"a"}',
    '{"metadata":{"name":1}}',
    '{"metadata":{"name":"other"}}',
    '{"metadata":null}',
    '{"spec":"a"}',
    '{"spec":null}',
    '{"spec":{"names":"a"}}',
    '{"spec":{"names":{"plural":1E400}}}',
    '{"spec":{"versions":null}}',
    '{"spec":{"versions":{}}}',
    '{"spec":{"versions":[null]}}',
    '{"status":"a"}',
    '{"status":{"storedVersions":[]}}',
    '{"status":{"storedVersions":["v1","v1"]}}',
    '{"status":{"conditions":[{}]}}',
    '{"status":{"conditions":{}}}',
    '{"status":{"conditions":[{"type":"a","status":"Maybe"}]}}',
    '{"unknown":1}',
    '{"$patch":"delete"}',
    '{"$retainKeys":["spec"]}',
    "[]",
    "null",
    "1",
)
_SCALED = (
    '{"apiVersion":"\'","kind":"Scale","spec":{"replicas":1}}',
    '{"apiVersion":"autoscaling/v1","kind":"Other","spec":{"replicas":1}}',
    '{"kind":"Scale","spec":{"replicas":1}}',
    '{"apiVersion":"autoscaling/v1","kind":"Scale","spec":{"replicas":"1"}}',
    '{"apiVersion":"autoscaling/v1","kind":"Scale","spec":[]}',
    '{"apiVersion":"autoscaling/v1","kind":"Scale","unknown":1}',
    '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":"a"}',
    '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"managedFields":[]}}',
    "{}",
)
_OPERATED = (
    '[{"op":"remove","path":"/apiVersion"}]',
    '[{"op":"remove","path":"/kind"}]',
    '[{"op":"remove","path":"/metadata"}]',
    '[{"op":"remove","path":"/metadata/name"}]',
    '[{"op":"remove","path":"/spec"},{"op":"remove","path":"/status"}]',
    '[{"op":"remove","path":"/spec"},{"op":"add","path":"/status","value":{}}]',
    '[{"op":"replace","path":"","value":{}}]',
    '[{"op":"replace","path":"","value":[]}]',
    '[{"op":"replace","path":"","value":null}]',
    '[{"op":"add","path":"/kind","value":{}}]',
    '[{"op":"add","path":"/apiVersion","value":1}]',
    '[{"op":"add","path":"/metadata","value":"a"}]',
    '[{"op":"add","path":"/metadata","value":null}]',
    '[{"op":"add","path":"/spec","value":"a"}]',
    '[{"op":"add","path":"/spec","value":null}]',
    '[{"op":"add","path":"/a","value":{"b":[1E400]}}]',
    '[{"op":"add","path":"/metadata/labels","value":{"a":1}}]',
    '[{"op":"add","path":"/metadata/labels/a","value":"b"}]',
    '[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}},{"op":"move","from":"/metadata/annotations/a","path":"/kind"}]',
    '[{"op":"move","from":"/spec","path":"/spec/a"}]',
    '[{"op":"copy","from":"/metadata","path":"/metadata/a"}]',
    '[{"op":"copy","from":"","path":"/a"}]',
    '[{"op":"test","path":"","value":{}}]',
    '[{"op":"test","path":"/nothing","value":null}]',
    '[{"op":"test","path":"/kind"}]',
    '[{"op":"add","path":"/kind"}]',
    '[{"op":"add","value":1}]',
    '[{"op":"add","path":null,"value":1}]',
    '[{"op":"add","path":"a","value":1}]',
    '[{"op":"add","path":"/a/b/c","value":1}]',
    '[{"op":"replace","path":"/nothing","value":1}]',
    '[{"op":"remove","path":"/nothing"}]',
    '[{"op":"spam","path":"/a"}]',
    '[{"op":null,"path":"/a"}]',
    '[{"path":"/a","value":1}]',
    '[{"op":1,"path":"/a"}]',
    '[{"op":"remove","path":1}]',
    '[{"op":"copy","from":1,"path":"/a"}]',
    '[{"op":"copy","path":"/a"}]',
    '[{"op":"add","path":"/a","path":[],"value":1}]',
    '[{"op":"add","path":[],"path":"/a","value":1}]',
    '[{"op":"add","path":"/a","value":1,"value":2}]',
    '[{"op":"add","path":"/a","value":1,"other":2}]',
    '[{"op":"add","Path":"/a","value":1}]',
    "[null]",
    "[[]]",
    "[1]",
    "{}",
    "null",
    "[]",
)
_METADATA = (
    '{"finalizers":["a"]}',
    '{"finalizers":["a/b","a/b"]}',
    '{"finalizers":[""]}',
    '{"finalizers":["foregroundDeletion","orphan"]}',
    '{"finalizers":[null]}',
    '{"finalizers":{}}',
    '{"labels":{"a":null}}',
    '{"labels":{"a b":"c"}}',
    '{"labels":[]}',
    '{"labels":null}',
    '{"annotations":{"a b":"c"}}',
    '{"annotations":{"A/b/c":""}}',
    '{"annotations":{"a":{}}}',
    '{"ownerReferences":[{}]}',
    '{"ownerReferences":[null]}',
    '{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b","controller":true}]}',
    '{"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"a","uid":"b"}]}',
    '{"ownerReferences":[{"apiVersion":"a/b/c","kind":"Pod","name":"a","uid":"b"}]}',
    '{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":1}]}',
    '{"creationTimestamp":"x"}',
    '{"creationTimestamp":""}',
    '{"creationTimestamp":null}',
    '{"creationTimestamp":"2020-01-01T00:00:00.5+01:00"}',
    '{"deletionTimestamp":"2020-01-01T00:00:00Z"}',
    '{"deletionTimestamp":"x"}',
    '{"deletionTimestamp":1}',
    '{"deletionGracePeriodSeconds":1}',
    '{"deletionGracePeriodSeconds":"1"}',
    '{"generation":-1}',
    '{"generation":"1"}',
    '{"generateName":"A"}',
    '{"generateName":1}',
    '{"namespace":"other"}',
    '{"namespace":1}',
    '{"uid":"x"}',
    '{"uid":1}',
    '{"selfLink":"x"}',
    '{"resourceVersion":"x"}',
    '{"resourceVersion":"1"}',
    '{"resourceVersion":1}',
    '{"managedFields":[]}',
    '{"managedFields":[{}]}',
    '{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV2"}]}',
    '{"managedFields":[{"operation":"Other"}]}',
    '{"managedFields":[{"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"k:{":{}}}]}',
    '{"managedFields":[{"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":[1]}]}',
    '{"managedFields":{}}',
    '{"unknown":1}',
)
_CONTENT_TYPES = (
    "application/json",
    "APPLICATION/JSON ; a=b",
    "application/json;a=b;a=b",
    "application/json;a=b;a=c",
    "application/json; a",
    "application/json, application/yaml",
    'application/json; charset="utf',
    "application/yaml",
    "application/cbor",
    "application/xml",
    "text/plain",
    "",
    "a",
    "*/*",
    _MERGE,
    _OPERATIONS,
    _STRATEGIC,
    _APPLY,
    f"{_MERGE}; a",
    _MERGE.upper(),
)
_ACCESS = '"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}'
_REVIEWS = (
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",{_ACCESS}}}',
    f"{{{_ACCESS}}}",
    f'{{"kind":"Other",{_ACCESS}}}',
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v9",{_ACCESS}}}',
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"v1",{_ACCESS}}}',
    f'{{"kind":"Pod","apiVersion":"v1",{_ACCESS}}}',
)
_SCALE = '{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"o","namespace":"default"}'
_SCALES = (
    _SCALE + "}",
    _SCALE + ',"spec":{"replicas":3}}',
    _SCALE + ',"spec":{"replicas":1.5}}',
    _SCALE + ',"spec":{"replicas":1E400}}',
    _SCALE + ',"spec":{"replicas":-1}}',
    _SCALE + ',"spec":{"replicas":null,"a":1}}',
    _SCALE + ',"spec":{"replicas":1,"replicas":2}}',
    _SCALE + ',"spec":{"replicas":"1","replicas":2}}',
    _SCALE + ',"spec":[]}',
    _SCALE + ',"unknown":1}',
    _SCALE.replace('"Scale"', '"Other"') + "}",
    _SCALE.replace('"Scale"', '""') + "}",
    _SCALE.replace('"Scale"', "1") + "}",
    _SCALE.replace("/v1", "/v2") + "}",
    _SCALE.replace('"autoscaling/v1"', "null") + "}",
    _SCALE.replace('"o"', '"p"') + "}",
    _SCALE.replace('"o"', "1") + "}",
    _SCALE.replace('"default"', '"other"') + "}",
    _SCALE.replace('"default"', "{}") + "}",
    '{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":"a"}',
    '{"kind":"Scale","apiVersion":"autoscaling/v1"}',
    "{}",
    "[]",
    "null",
    "",
    "{",
)
_APPLIED_SCHEMAS = (
    '{"type":"object","unknown":1}',
    '{"type":"object","":{}}',
    '{"type":1}',
    '{"type":null}',
    '{"type":"object","properties":{"a":{"type":"string","b":1}}}',
    '{"type":"object","properties":{"a":1}}',
    '{"type":"object","properties":[]}',
    '{"type":"object","items":{"unknown":1}}',
    '{"type":"object","additionalProperties":{"unknown":1}}',
    '{"type":"object","not":{"unknown":1}}',
    '{"type":"object","allOf":[{"unknown":1}]}',
    '{"type":"object","allOf":{}}',
    '{"type":"object","required":[1]}',
    '{"type":"object","enum":1,"default":{"a":[1]}}',
    '{"type":"object","maxProperties":"1"}',
    '{"type":"object","maxProperties":1e2}',
    '{"type":"object","maxProperties":1.5}',
    '{"type":"object","maximum":"1","minLength":1.5}',
    '{"type":"object","nullable":1}',
    '{"type":"object","externalDocs":{"a":1}}',
    '{"type":"object","dependencies":{"a":1},"definitions":{"a":1}}',
    '{"type":"object","x-kubernetes-validations":[{"rule":"true"},{"rule":"true"}]}',
    '{"type":"object","x-kubernetes-validations":[{"message":"a"}]}',
    '{"type":"object","x-kubernetes-validations":[{"rule":"true","a":1}]}',
    '{"type":"object","x-kubernetes-validations":{"rule":"true"}}',
)
# Those that no 64 bits hold are named where they are read as any value.
_ODD_NUMBERS = (
    "1E400",
    "-1e400",
    "1e-400",
    "1.0",
    "-0",
    "-0.0",
    "1e3",
    "9223372036854775808",
    "1" * 400,
    "0." + "3" * 30,
)
_NUMBERS = {
    "as a text": (_POLICY, _policy('"expression":1E400')),
    "as a count": (_DEFINITION, _definition('{"type":"object","maxProperties":1E400}')),
    "as a bound": (_DEFINITION, _definition('{"type":"object","properties":{"a":{"type":"number","maximum":1E400}}}')),
    "as a small bound": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","maximum":1e-400}}}'),
    ),
    "as a default": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","default":1E400}}}'),
    ),
    "as a small default": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","default":1e-400}}}'),
    ),
    "as a large bound": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","minimum":1e18}}}'),
    ),
    "as a larger bound": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","minimum":9223372036854775808}}}'),
    ),
    "as a large default": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","default":1e17}}}'),
    ),
    "in an enum": (_DEFINITION, _definition('{"type":"object","properties":{"a":{"type":"number","enum":[1E400]}}}')),
    "unknown": (_DEFINITION, _definition('{"type":"object","unknown":1E400}')),
    "as a type": (_DEFINITION, _definition('{"type":1E400}')),
    "as an object": (_DEFINITION, _definition('{"type":"object","properties":1E400}')),
}


def _admission(response: str, *, before: str = "", review: str = "") -> str:
    return (
        f'{{{review}"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",'
        f'"response":{{{before}"uid":"${{uid}}","allowed":true{response}}}}}'
    )


# A body that begins with a brace is JSON, whatever YAML might make of it.
# Patches by webhooks, which make no object of what was sent.
_OF_WEBHOOKS = (
    '[{"op":"add","path":"/metadata","value":"a"}]',
    '[{"op":"add","path":"/metadata","value":null}]',
    '[{"op":"remove","path":"/metadata"}]',
    '[{"op":"remove","path":"/metadata/name"}]',
    '[{"op":"add","path":"/metadata/name","value":"other"}]',
    '[{"op":"add","path":"/metadata/name","value":1}]',
    '[{"op":"add","path":"/metadata/labels","value":"a"}]',
    '[{"op":"add","path":"/metadata/labels","value":{"a":1}}]',
    '[{"op":"add","path":"/metadata/labels","value":{"a b":"c"}}]',
    '[{"op":"add","path":"/metadata/annotations","value":["a"]}]',
    '[{"op":"add","path":"/metadata/finalizers","value":"a"}]',
    '[{"op":"add","path":"/metadata/finalizers","value":["a"]}]',
    '[{"op":"add","path":"/metadata/finalizers","value":[1]}]',
    '[{"op":"add","path":"/metadata/ownerReferences","value":[1]}]',
    '[{"op":"add","path":"/metadata/ownerReferences","value":[{}]}]',
    '[{"op":"add","path":"/metadata/ownerReferences","value":[{"controller":"a"}]}]',
    '[{"op":"add","path":"/metadata/creationTimestamp","value":"a"}]',
    '[{"op":"add","path":"/metadata/creationTimestamp","value":1}]',
    '[{"op":"add","path":"/metadata/deletionTimestamp","value":"a"}]',
    '[{"op":"add","path":"/metadata/deletionTimestamp","value":"2020-01-01T00:00:00Z"}]',
    '[{"op":"add","path":"/metadata/generation","value":1.5}]',
    '[{"op":"add","path":"/metadata/generation","value":"1"}]',
    '[{"op":"add","path":"/metadata/namespace","value":"other"}]',
    '[{"op":"add","path":"/metadata/resourceVersion","value":"1"}]',
    '[{"op":"add","path":"/metadata/uid","value":"1"}]',
    '[{"op":"add","path":"/metadata/unknown","value":"1"}]',
    '[{"op":"add","path":"/metadata/managedFields","value":1}]',
    '[{"op":"add","path":"/metadata/managedFields","value":[{"a":1}]}]',
    '[{"op":"add","path":"/metadata/managedFields","value":[]}]',
    '[{"op":"add","path":"/kind","value":"Other"}]',
    '[{"op":"add","path":"/kind","value":1}]',
    '[{"op":"remove","path":"/kind"}]',
    '[{"op":"add","path":"/apiVersion","value":"other/v1"}]',
    '[{"op":"add","path":"/apiVersion","value":"/"}]',
    '[{"op":"add","path":"/apiVersion","value":1}]',
    '[{"op":"remove","path":"/apiVersion"}]',
    '[{"op":"add","path":"/spec","value":"a"}]',
    '[{"op":"add","path":"/status","value":"a"}]',
    '[{"op":"add","path":"/spec/names/plural","value":1}]',
    '[{"op":"add","path":"/spec/names/plural","value":"a"}]',
    '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema","value":"a"}]',
    '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":1}}]',
    '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","a":1}}]',
    '[{"op":"add","path":"/spec/i","value":"a"}]',
    '[{"op":"add","path":"/spec/i","value":1.0}]',
    '[{"op":"add","path":"/spec/i","value":1E400}]',
    '[{"op":"add","path":"/spec/unknown","value":1}]',
    '[{"op":"add","path":"/unknown","value":1}]',
    '[{"op":"replace","path":"","value":[]}]',
    '[{"op":"replace","path":"","value":{}}]',
    '[{"op":"replace","path":"","value":null}]',
)
_MALFORMED_AND_WRONG = (
    '[{"op":"add","path":"/metadata/name","value":1}]',
    '[{"op":"add","path":"/metadata/ownerReferences","value":[{"controller":"a"}]}]',
)
_OF_PATCHES = tuple(
    _admission(f',"patchType":"JSONPatch","patch":"{base64.b64encode(patch.encode()).decode()}"')
    for patch in _OF_WEBHOOKS
)
_ADMISSION_REPLIES = (
    _admission(""),
    _admission(',"auditAnnotations":{"a":0x10}'),
    _admission("") + _admission(""),
    _admission("").replace('"', "'"),
    "\n" + _admission("").replace("true", "True"),
    "kind: AdmissionReview\napiVersion: admission.k8s.io/v1\nresponse: {uid: ${uid}, allowed: true}",
    _admission("", before='"allowed":1,'),
    _admission("", before='"status":{"code":"x"},"status":{},'),
    _admission(',"allowed":null'),
    _admission("", review='"request":[],'),
    _admission("", review='"request":{"userInfo":{"groups":{}}},'),
    _admission("", review='"request":{"object":1,"dryRun":1},'),
    _admission(',"status":{"metadata":[]}'),
    _admission(',"status":{"metadata":{"remainingItemCount":"x"}}'),
    _admission(',"status":{"code":1E400}'),
    *(
        _admission(f',"patchType":"JSONPatch","patch":"{patch}"')
        for patch in ("AA=", "AA=A", "AAAA=", "AA==A", "W10", "W1\\n0=", "\u00e9", "-_-_")
    ),
    _admission(',"patch":[]'),
    _admission(',"patch":[91,93],"patchType":"JSONPatch"'),
    _admission(',"patch":[91,null,93],"patchType":"JSONPatch"'),
    _admission(',"patch":[91,256]'),
    _admission(',"patch":["W10="]'),
    _admission(',"patch":[1.5]'),
    _admission(',"patch":{}'),
    *_OF_PATCHES,
    _admission(',"patch":"!","warnings":{}'),
    _admission(',"warnings":{},"patch":"!"'),
    _admission(',"warnings":[null,"a"]'),
)
# What stands before the response, and may say of which type the review is.
_TYPED_REPLIES = tuple(
    f'{{{of}"response":{{"uid":"${{uid}}","allowed":true}}}}'
    for of in (
        "",
        *(
            f'"{kind}":"AdmissionReview","{api_version}":"{group}/{version}",'
            for group in ("admission.k8s.io", " admission.k8s.io")
            for version in ("v1", "v1beta1")
            for kind, api_version in (("kind", "apiVersion"), ("KIND", "APIVERSION"), ("Kind", "apiversion"))
        ),
        *(
            f'"apiVersion":"admission.k8s.io/{version}",{kinds}'
            for version in ("v1", "v1beta1")
            for kinds in (
                '"kind":"AdmissionReview","KIND":"Other",',
                '"KIND":"Other","kind":"AdmissionReview",',
                '"KIND":"AdmissionReview","kind":null,',
                '"kind":"AdmissionReview","KIND":null,',
                '"kind":"","KIND":"AdmissionReview",',
                '"kind":"AdmissionReview","KIND":"",',
                '"kind":"AdmissionReview","kind":"Other",',
                '"\u212aind":"Other","kind":"AdmissionReview",',
                '"kind":"AdmissionReview","\u212aind":"Other",',
            )
        ),
        '"APIVERSION":"admission.k8s.io/v1","apiVersion":"admission.k8s.io/v1beta1",',
        '"apiVersion":"admission.k8s.io/v1beta1","APIVERSION":"admission.k8s.io/v1",',
        '"apiVersion":"/","kind":"AdmissionReview",',
        '"apiVersion":"admission.k8s.io/","kind":"AdmissionReview",',
        '"apiVersion":"v1","kind":"Status","status":"Success",',
        '"apiVersion":"v1","kind":"Status","status":"Success","KIND":"AdmissionReview",',
        '"APIVERSION":"v1","KIND":"Status","status":"Failure","message":"no",',
        '"kind":"Status","status":"Failure",',
    )
)


def _conversion(converted: str, *, before: str = "", review: str = "") -> str:
    return (
        f'{{{review}"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{{{before}"uid":"${{uid}}",'
        f'"result":{{"status":"Success"}},"convertedObjects":{converted}}}}}'
    )


def _converted(more: str = "", metadata: str = "") -> str:
    return (
        f'[{{{more}"apiVersion":"${{desired}}","kind":"Thing","metadata":{{{metadata}"name":"${{name}}",'
        '"namespace":"${namespace}","uid":"${objectUID}"}}]'
    )


_CONVERSION_REPLIES = (
    _conversion(_converted()),
    _conversion(_converted('"spec":{"n":0x10},')),
    _conversion(_converted()) + _conversion(_converted()),
    _conversion(_converted(), review='"request":[],'),
    _conversion(_converted(), review='"request":{"objects":{}},'),
    _conversion(_converted(), review='"request":{"objects":[1],"uid":1},'),
    _conversion(_converted(), before='"result":{"status":1},'),
    _conversion(_converted(), before='"convertedObjects":{},'),
    _conversion(_converted('"kind":1,')),
    _conversion(_converted('"spec":{"n":1E400},')),
    _conversion(_converted('"spec":{"any":1E400},')),
    _conversion(_converted('"spec":{"any":9223372036854775808},')),
    _conversion(_converted('"spec":{"any":1.0},')),
    _conversion(_converted('"spec":[],"spec":{"n":1},')),
    _conversion(_converted(metadata='"labels":{"a":1},"labels":{"a":"b"},')),
    _conversion(_converted(metadata='"labels":{"a":null},')),
    _conversion(_converted(metadata='"labels":{},"annotations":{},')),
    _conversion(_converted('"unknown":{"a":1},')),
    *(
        _conversion(_converted()).replace('"apiVersion"', f'"{name}"', 1).replace("apiextensions.k8s.io/v1", group)
        for name in ("apiVersion", "APIVERSION")
        for group in ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", "/", "a.example.com/v1")
    ),
    *(_conversion(_converted()).replace('"kind"', of, 1) for of in ('"KIND"', '"kind":"Other","KIND"')),
    *(_conversion(_converted(more)) for more in ('"KIND":"Other",', '"APIVERSION":"a/b/c",', '"Metadata":{},')),
)
_BINDING = (
    '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"$id"},'
    '"spec":{"policyName":"$id-none","validationActions":["Deny"]}}'
)
_CONFIGURATION = (
    '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"$id"}}'
)
_OF_KINDS = {
    _DEFINITION: _definition(),
    _POLICY: _policy(),
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _CONFIGURATION,
}
