"""From one version of OpenAPI to the other: operations from 2 to 3, schemas from 3 to 2.

After k8s.io/kube-openapi/pkg/builder3 and pkg/openapiconv. Version 2 knows no ``oneOf`` and no siblings of ``$ref``
that would mean anything, and Kubernetes leaves defaults out of it.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi.schemas import DEFINITIONS, REFERENCE


def schema_2(schema: Object) -> Object:
    """Convert a schema from OpenAPI 3 to OpenAPI 2."""
    found: Object = {}
    for key, value in schema.items():
        match key:
            case "default":
                continue
            case "allOf":
                found["$ref"] = _moved(value[0]["$ref"])
            case "$ref":
                found["$ref"] = _moved(value)
            case "oneOf":
                found["type"] = "string"
            case "properties":
                found[key] = {name: schema_2(entry) for name, entry in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                found[key] = schema_2(value)
            case _:
                found[key] = value
    return found


def _moved(reference: str) -> str:
    return DEFINITIONS + reference.removeprefix(REFERENCE)


def path_3(path: Object) -> Object:
    """Convert a path with its operations from OpenAPI 2 to OpenAPI 3."""
    found: Object = {}
    for key, value in path.items():
        found[key] = list(map(_parameter, value)) if key == "parameters" else _operation(value)
    return found


def _operation(operation: Object) -> Object:
    found = {key: value for key, value in operation.items() if key not in ("consumes", "produces", "schemes")}
    parameters = operation.get("parameters", [])
    if asked := [_parameter(entry) for entry in parameters if entry["in"] != "body"]:
        found["parameters"] = asked
    else:
        found.pop("parameters", None)
    for body in (entry for entry in parameters if entry["in"] == "body"):
        content = {media: {"schema": _schema(body["schema"])} for media in operation["consumes"]}
        found["requestBody"] = {"content": content, **({"required": True} if body.get("required") else {})}
    produces = operation.get("produces", [])
    found["responses"] = {code: _response(entry, produces) for code, entry in operation["responses"].items()}
    return found


def _response(response: Object, produces: list[str]) -> Object:
    if "schema" not in response:
        return response
    schema = _schema(response["schema"])
    return {"description": response["description"], "content": {media: {"schema": schema} for media in produces}}


def _parameter(parameter: Object) -> Object:
    schema = {key: parameter[key] for key in ("type", "uniqueItems")}
    return {**{key: value for key, value in parameter.items() if key not in schema}, "schema": schema}


def _schema(schema: Object) -> Object:
    if "$ref" not in schema:
        return schema
    return {"$ref": REFERENCE + schema["$ref"].removeprefix(DEFINITIONS)}
