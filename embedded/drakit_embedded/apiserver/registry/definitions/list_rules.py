"""List types, map types and keys in a schema.

Source: ``ValidateCustomResourceDefinitionOpenAPISchema`` and ``validateMapListKeysMapSet`` of
``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, forbidden, invalid, invalid_constant, not_supported_value, required
from drakit_embedded.apiserver.registry.definitions.schema_printing import printed_items

_LIST, _MAP, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_SCALAR_KEYS = "must be a scalar type if parent array's x-kubernetes-list-type is map"


def map_faults(schema: Object, path: str) -> Errors:
    """Check the map type of a level."""
    map_type = schema.get(_MAP)
    if map_type is None:
        return
    yield from _type_fault(schema, path, "object", _MAP)
    if map_type not in ("atomic", "granular"):
        yield not_supported_value(f"{path}.{_MAP}", map_type, ("atomic", "granular"))


def list_faults(schema: Object, path: str) -> Errors:
    """Check the list type of a level, and the keys of its items."""
    list_type, items = schema.get(_LIST), schema.get("items")
    if list_type is not None and schema.get("type") != "array":
        yield from _type_fault(schema, path, "array", _LIST)
    elif list_type == "set" and isinstance(items, dict):
        yield from _set_faults(items, f"{path}.items")
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported_value(f"{path}.{_LIST}", list_type, ("atomic", "set", "map"))
    if schema.get(_KEYS) and list_type != "map":
        at, detail = f"{path}.{_LIST}", f"must be map if {_KEYS} is non-empty"
        yield required(at, detail) if list_type is None else invalid(at, list_type, detail)
    if list_type == "map":
        yield from _list_map_faults(schema, path)
    if isinstance(items, dict) and list_type in ("set", "map"):
        yield from _item_faults(schema, items, f"{path}.items")


def _type_fault(schema: Object, path: str, wanted: str, because: str) -> Errors:
    found, detail = schema.get("type") or "", f"must be {wanted} if {because} is specified"
    if found != wanted:
        yield invalid(f"{path}.type", found, detail) if found else required(f"{path}.type", detail)


def _set_faults(items: Object, path: str) -> Errors:
    """Check that a set's items are changed as a whole; the message shows their list type in either case."""
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(_LIST) not in (None, "atomic"):
        yield invalid_constant(f"{path}.{_LIST}", items.get(_LIST), detail)
    elif items.get("type") == "object" and items.get(_MAP) != "atomic":
        yield invalid_constant(f"{path}.{_MAP}", items.get(_LIST), detail)


def _list_map_faults(schema: Object, path: str) -> Errors:
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST} is map")
    if "items" not in schema:
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
        return
    if not isinstance(items, dict):
        yield invalid(f"{path}.items", printed_items(items), f"must only have a single schema if {_LIST} is map")
        return
    if items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST} is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", detail)
        return
    for place, key in enumerate(keys):
        yield from _key_faults(keys, place, items, path)
        if key in keys[:place]:
            yield invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _key_faults(keys: list[str], place: int, items: Object, path: str) -> Errors:
    field = (items.get("properties") or {}).get(keys[place])
    if field is None:
        yield invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
    elif field.get("type") in ("array", "object"):
        # The message shows the type of the item, not of its field.
        yield invalid(f"{path}.items.properties[{keys[place]}].type", items["type"], _SCALAR_KEYS)


def _item_faults(schema: Object, items: Object, path: str) -> Errors:
    """Check that items and keys are there, and never null (``validateMapListKeysMapSet``)."""
    list_type = schema[_LIST]
    if items.get("nullable"):
        yield forbidden(f"{path}.nullable", f"cannot be nullable when {_LIST} is {list_type}")
    for key in schema.get(_KEYS) or () if list_type == "map" else ():
        field, at = (items.get("properties") or {}).get(key), f"{path}.properties[{key}]"
        if field is None:
            continue
        said = f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and field.get("default") is None:
            yield required(f"{at}.default", f"{said} must have a default or be a required property")
        if field.get("nullable"):
            yield forbidden(f"{at}.nullable", f"{said} cannot be nullable")
