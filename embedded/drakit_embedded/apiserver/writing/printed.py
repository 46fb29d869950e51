"""A patched object in the order of fields in which a refusal shows it.

The real server patches text: objects that the patch has gone into are printed anew, by their keys, and all others stay
as Go has printed them, by the fields of their structs. After gopkg.in/evanphx/json-patch.v4 ``patch.go`` (lazyNode).
"""

from __future__ import annotations

from typing import Any

from drakit_api.golang.gostrings import to_json
from drakit_api.objects.schema import Schema, Type
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind

# The keys that a patch goes into, nested; {}: into the object, but no deeper.
Touched = dict[str, Any]


def text(obj: dict[str, Any], kind: Kind, touched: Touched) -> str:
    """Print the object as JSON."""
    if kind.definition is not None:
        # Upstream has no struct either, but a map, whose keys are printed in the order of the alphabet.
        return to_json(_sorted(obj))
    types, struct = structures.types_of(kind)
    return to_json(_ordered(types, Type("struct", "", struct=struct), obj, touched))


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def of_operations(operations: list[dict[str, Any]]) -> Touched:
    """Collect the containers that the operations of a JSON patch go into, as a tree of keys."""
    found: Touched = {}
    for operation in operations:
        for path in (operation.get("path"), operation.get("from")):
            if isinstance(path, str):
                below = found
                for part in path.split("/")[1:-1]:
                    below = below.setdefault(part.replace("~1", "/").replace("~0", "~"), {})
    return found


def _ordered(types: Schema, kind: Type | None, value: Any, touched: Any) -> Any:
    if isinstance(value, list):
        item, inside = (kind.item if kind else None), touched if isinstance(touched, dict) else {}
        return [_ordered(types, item, one, inside.get(str(index))) for index, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    fields = {field.name: field.type for field in types.flat_fields(kind.struct)} if kind and kind.struct else {}
    item = kind.item if kind else None
    inside = touched if isinstance(touched, dict) else {}
    keys = list(value)
    if isinstance(touched, dict) or (kind and kind.shape == "map"):
        keys.sort()
    elif fields:
        keys = [*(name for name in fields if name in value), *(key for key in value if key not in fields)]
    return {key: _ordered(types, fields.get(key, item), value[key], inside.get(key)) for key in keys}
