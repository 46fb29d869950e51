"""What webhooks and converting programs seldom answer; ``${uid}`` and the like stand for what they were asked."""

from __future__ import annotations

import base64


def _admission(response: str, *, before: str = "", review: str = "") -> str:
    return (
        f'{{{review}"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",'
        f'"response":{{{before}"uid":"${{uid}}","allowed":true{response}}}}}'
    )


# A body that begins with a brace is JSON, whatever YAML might make of it.
# Patches by webhooks, which make no object of what was sent.
OF_WEBHOOKS = (
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
MALFORMED_AND_WRONG = (
    '[{"op":"add","path":"/metadata/name","value":1}]',
    '[{"op":"add","path":"/metadata/ownerReferences","value":[{"controller":"a"}]}]',
)
OF_PATCHES = tuple(
    _admission(f',"patchType":"JSONPatch","patch":"{base64.b64encode(patch.encode()).decode()}"')
    for patch in OF_WEBHOOKS
)
ADMISSION_REPLIES = (
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
    *OF_PATCHES,
    _admission(',"patch":"!","warnings":{}'),
    _admission(',"warnings":{},"patch":"!"'),
    _admission(',"warnings":[null,"a"]'),
)
# What stands before the response, and may say of which type the review is.
TYPED_REPLIES = tuple(
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


CONVERSION_REPLIES = (
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
