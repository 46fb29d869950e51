"""What is seldom sent: definitions, policies, objects and patches; ``$id`` stands for a name of the story's own."""

from __future__ import annotations

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
OPERATIONS, STRATEGIC = "application/json-patch+json", "application/strategic-merge-patch+json"


def definition(schema: str = '{"type":"object"}', *, names: str = "", version: str = "", more: str = "") -> str:
    """Write a definition, with more of its names and of its version before what they have to have."""
    return (
        '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.$id.example.com"},'
        f'"spec":{{"group":"$id.example.com","scope":"Namespaced","names":{{{names}"plural":"things","singular":"thing",'
        f'"kind":"Thing","listKind":"ThingList"}},"versions":[{{{version}"name":"v1","served":true,"storage":true,'
        f'"schema":{{"openAPIV3Schema":{schema}}}}}]}}{more}}}'
    )


def policy(validation: str = '"expression":"true"', constraints: str = "", more: str = "") -> str:
    rule = '{"apiGroups":["$id.example.com"],"apiVersions":["*"],"operations":["CREATE"],"resources":["things"]}'
    return (
        '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"$id"},"spec":{'
        f'"matchConstraints":{{{constraints}"resourceRules":[{rule}]}},{more}"validations":[{{{validation}}}]}}}}'
    )


POLICY = "ValidatingAdmissionPolicy"
DEFINITION = "CustomResourceDefinition"
# Each value of a repeated field is decoded, and has to be of the right type.
REPEATED = {
    "text": (POLICY, policy('"expression":1,"expression":"true"')),
    "list": (POLICY, policy(constraints='"resourceRules":{"":""},')),
    "map": (POLICY, policy(constraints='"objectSelector":{"matchLabels":"x","matchLabels":{"a":"b"}},')),
    "value of a map": (POLICY, policy(constraints='"objectSelector":{"matchLabels":{"a":1,"a":"b"}},')),
    "struct": (DEFINITION, definition(version='"schema":"x",')),
    "second is wrong": (POLICY, policy('"expression":"true","expression":1')),
    "the first of two that are wrong": (
        POLICY,
        policy('"message":[],"expression":1,"message":{},"expression":"true"'),
    ),
    "metadata": (POLICY, policy().replace('"metadata":', '"metadata":[],"metadata":')),
    "null keeps a text": (POLICY, policy('"expression":"true","expression":null')),
    "null keeps a struct": (POLICY, policy().replace("]}}", ']},"spec":null}', 1)),
    "null takes a list": (POLICY, policy('"expression":"true"').replace("]}}", '],"validations":null}}', 1)),
    "null takes a pointer": (POLICY, policy(more='"failurePolicy":"Ignore","failurePolicy":null,')),
    "structs are filled": (
        POLICY,
        policy().replace('"metadata":', '"metadata":{"labels":{"a":"b"},"name":"x"},"metadata":'),
    ),
    "maps are filled": (
        POLICY,
        policy().replace('"name":"$id"', '"name":"$id","labels":{"a":"b","c":"d"},"labels":{"a":"e"}'),
    ),
    "lists are not": (POLICY, policy(more='"variables":[{"name":"a","expression":"1"}],"variables":[{"name":"b"}],')),
    "names": (DEFINITION, definition(names='"singular":["a",1,null,{}],')),
    "kind": (POLICY, policy().replace('"kind":', '"kind":1,"kind":')),
    "another kind": (POLICY, policy().replace('"kind":', '"kind":"Other","kind":')),
    "in a schema": (DEFINITION, definition('{"type":1,"type":"object"}')),
    "in a schema, a list": (DEFINITION, definition('{"type":"object","required":"a","required":["a"]}')),
    "in properties": (DEFINITION, definition('{"type":"object","properties":{"a":"x","a":{"type":"string"}}}')),
}
SCHEMAS = {
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
TYPE = '"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",'
POLICY_TYPE = '"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",'
# What an object may say of its type.
OF_TYPES = (
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
REPEATED_OBJECTS = (
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
PATCHED = (
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
SCALED = (
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
OPERATED = (
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
METADATA = (
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
    '{"managedFields":[{"manager":"m","operation":"Update","fieldsType":"FieldsV2","time":"x"}]}',
    '{"managedFields":[{"manager":"m","apiVersion":29}]}',
    '{"managedFields":[{"manager":"m"},null]}',
    '{"managedFields":[1]}',
    '{"managedFields":[{"manager":"m","unknown":1}]}',
    '{"managedFields":{}}',
    '{"unknown":1}',
)
CONTENT_TYPES = (
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
    MERGE,
    OPERATIONS,
    STRATEGIC,
    APPLY,
    f"{MERGE}; a",
    MERGE.upper(),
)
_ACCESS = '"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}'
REVIEWS = (
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",{_ACCESS}}}',
    f"{{{_ACCESS}}}",
    f'{{"kind":"Other",{_ACCESS}}}',
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v9",{_ACCESS}}}',
    f'{{"kind":"SelfSubjectAccessReview","apiVersion":"v1",{_ACCESS}}}',
    f'{{"kind":"Pod","apiVersion":"v1",{_ACCESS}}}',
)
_SCALE = '{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"o","namespace":"default"}'
SCALES = (
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
SCALED_FROM_NOTHING = (
    '{"spec":{"replicas":2}}',
    '{"spec":{"replicas":0}}',
    '{"spec":{"replicas":-1}}',
    '{"spec":{"replicas":null}}',
    '{"spec":{"replicas":-2147483648}}',
    '{"spec":{}}',
    '{"spec":null}',
    "{}",
    '[{"op":"replace","path":"/spec/replicas","value":3}]',
    '[{"op":"test","path":"/spec/replicas","value":-2147483648}]',
    '[{"op":"remove","path":"/spec/replicas"}]',
    '[{"op":"remove","path":"/spec"}]',
)
APPLIED_SCHEMAS = (
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
ODD_NUMBERS = (
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
NUMBERS = {
    "as a text": (POLICY, policy('"expression":1E400')),
    "as a count": (DEFINITION, definition('{"type":"object","maxProperties":1E400}')),
    "as a bound": (DEFINITION, definition('{"type":"object","properties":{"a":{"type":"number","maximum":1E400}}}')),
    "as a small bound": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","maximum":1e-400}}}'),
    ),
    "as a default": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","default":1E400}}}'),
    ),
    "as a small default": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","default":1e-400}}}'),
    ),
    "as a large bound": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","minimum":1e18}}}'),
    ),
    "as a larger bound": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","minimum":9223372036854775808}}}'),
    ),
    "as a large default": (
        DEFINITION,
        definition('{"type":"object","properties":{"a":{"type":"number","default":1e17}}}'),
    ),
    "in an enum": (DEFINITION, definition('{"type":"object","properties":{"a":{"type":"number","enum":[1E400]}}}')),
    "unknown": (DEFINITION, definition('{"type":"object","unknown":1E400}')),
    "as a type": (DEFINITION, definition('{"type":1E400}')),
    "as an object": (DEFINITION, definition('{"type":"object","properties":1E400}')),
}


_BINDING = (
    '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"$id"},'
    '"spec":{"policyName":"$id-none","validationActions":["Deny"]}}'
)
_CONFIGURATION = (
    '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"$id"}}'
)
OF_KINDS = {
    DEFINITION: definition(),
    POLICY: policy(),
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _CONFIGURATION,
}
