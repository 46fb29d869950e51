"""The fields of ``JSONSchemaProps``: their names in JSON and in Go, and what they hold.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/types_jsonschema.go``, and that of ``v1``.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

# "schemas" is a list, "named" a map; of the last three, each decodes itself: a schema, or something else.
Shape = Literal[
    "string",
    "bool",
    "int64",
    "float64",
    "strings",
    "json",
    "jsons",
    "rules",
    "documentation",
    "schema",
    "schemas",
    "named",
    "schema or list",
    "schema or bool",
    "named schemas or strings",
]


class Field(NamedTuple):
    """One field; ``go_type`` is the name of its type in messages, ``pointer`` whether null is more than nothing."""

    name: str
    go: str
    shape: Shape
    go_type: str
    pointer: bool = False


# In the order of the internal type.
FIELDS: Final[tuple[Field, ...]] = (
    Field("id", "ID", "string", "string"),
    Field("$schema", "Schema", "string", "v1.JSONSchemaURL"),
    Field("$ref", "Ref", "string", "string", pointer=True),
    Field("description", "Description", "string", "string"),
    Field("type", "Type", "string", "string"),
    Field("nullable", "Nullable", "bool", "bool"),
    Field("format", "Format", "string", "string"),
    Field("title", "Title", "string", "string"),
    Field("default", "Default", "json", "v1.JSON", pointer=True),
    Field("maximum", "Maximum", "float64", "float64", pointer=True),
    Field("exclusiveMaximum", "ExclusiveMaximum", "bool", "bool"),
    Field("minimum", "Minimum", "float64", "float64", pointer=True),
    Field("exclusiveMinimum", "ExclusiveMinimum", "bool", "bool"),
    Field("maxLength", "MaxLength", "int64", "int64", pointer=True),
    Field("minLength", "MinLength", "int64", "int64", pointer=True),
    Field("pattern", "Pattern", "string", "string"),
    Field("maxItems", "MaxItems", "int64", "int64", pointer=True),
    Field("minItems", "MinItems", "int64", "int64", pointer=True),
    Field("uniqueItems", "UniqueItems", "bool", "bool"),
    Field("multipleOf", "MultipleOf", "float64", "float64", pointer=True),
    Field("enum", "Enum", "jsons", "[]v1.JSON"),
    Field("maxProperties", "MaxProperties", "int64", "int64", pointer=True),
    Field("minProperties", "MinProperties", "int64", "int64", pointer=True),
    Field("required", "Required", "strings", "[]string"),
    Field("items", "Items", "schema or list", "v1.JSONSchemaPropsOrArray", pointer=True),
    Field("allOf", "AllOf", "schemas", "[]v1.JSONSchemaProps"),
    Field("oneOf", "OneOf", "schemas", "[]v1.JSONSchemaProps"),
    Field("anyOf", "AnyOf", "schemas", "[]v1.JSONSchemaProps"),
    Field("not", "Not", "schema", "v1.JSONSchemaProps", pointer=True),
    Field("properties", "Properties", "named", "map[string]v1.JSONSchemaProps"),
    Field("additionalProperties", "AdditionalProperties", "schema or bool", "v1.JSONSchemaPropsOrBool", pointer=True),
    Field("patternProperties", "PatternProperties", "named", "map[string]v1.JSONSchemaProps"),
    Field("dependencies", "Dependencies", "named schemas or strings", "v1.JSONSchemaDependencies"),
    Field("additionalItems", "AdditionalItems", "schema or bool", "v1.JSONSchemaPropsOrBool", pointer=True),
    Field("definitions", "Definitions", "named", "v1.JSONSchemaDefinitions"),
    Field("externalDocs", "ExternalDocs", "documentation", "v1.ExternalDocumentation", pointer=True),
    Field("example", "Example", "json", "v1.JSON", pointer=True),
    Field("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", "bool", "bool", pointer=True),
    Field("x-kubernetes-embedded-resource", "XEmbeddedResource", "bool", "bool"),
    Field("x-kubernetes-int-or-string", "XIntOrString", "bool", "bool"),
    Field("x-kubernetes-list-map-keys", "XListMapKeys", "strings", "[]string"),
    Field("x-kubernetes-list-type", "XListType", "string", "string", pointer=True),
    Field("x-kubernetes-map-type", "XMapType", "string", "string", pointer=True),
    Field("x-kubernetes-validations", "XValidations", "rules", "v1.ValidationRules"),
)
RULE_FIELDS: Final[tuple[Field, ...]] = (
    Field("rule", "Rule", "string", "string"),
    Field("message", "Message", "string", "string"),
    Field("messageExpression", "MessageExpression", "string", "string"),
    Field("reason", "Reason", "string", "v1.FieldValueErrorReason", pointer=True),
    Field("fieldPath", "FieldPath", "string", "string"),
    Field("optionalOldSelf", "OptionalOldSelf", "bool", "bool", pointer=True),
)
DOCUMENTATION_FIELDS: Final[tuple[Field, ...]] = (
    Field("description", "Description", "string", "string"),
    Field("url", "URL", "string", "string"),
)
