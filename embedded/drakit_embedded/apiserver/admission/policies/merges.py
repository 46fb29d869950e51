"""An object with an ApplyConfiguration of a policy put over it.

After k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go. Nobody comes to own what a policy sets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.managedfields import merging, shapes, typechecks
from drakit_embedded.apiserver.managedfields.shapes import Keyed, Leaf, Shape, Struct, Untyped, Values
from drakit_embedded.apiserver.scheme.kinds import Kind, handled


class MergeError(Exception):
    """A configuration that cannot be put over an object."""


class UnknownTypeError(Exception):
    """A kind whose types are not known, so that nothing can be merged."""


def applied(configuration: Object, obj: Object, kind: Kind, subresource: str) -> Object:
    """Merge a configuration into an object, which is shown as one of a kind.

    Raises:
        MergeError: if it does not fit the kind, or would replace something as a whole.
        UnknownTypeError: if the types of the kind are not known.
    """
    typed = handled(kind, subresource)
    kind = dataclasses.replace(kind, group=typed.group, version=typed.version, kind=typed.kind)
    try:
        shape = shapes.plain(kind, kind.api_version)
    except LookupError:
        raise UnknownTypeError(f"{kind.group}/{kind.version}, Kind={kind.kind}") from None
    patch = {**configuration, "kind": obj["kind"], "apiVersion": obj["apiVersion"]}
    if wrong := typechecks.faults(patch, kind):
        raise MergeError(f"failed to convert patch object to typed object: {wrong}")
    if replaced := list(_atomics(patch, shape, "")):
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(replaced)}"
        raise MergeError(f"invalid ApplyConfiguration: {why}")
    merged: Object = merging.merged(obj, patch, shape)
    return merged


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Find the lists and objects in a configuration that would replace others as a whole."""
    if not isinstance(value, dict | list):
        return
    shape = shape.of(value) if isinstance(shape, Untyped) else shape
    if isinstance(shape, Leaf):
        yield path
    elif isinstance(value, dict) and isinstance(shape, Struct):
        for key, item in value.items():
            if key in shape.fields:
                yield from _atomics(item, shape.fields[key].shape, f"{path}.{key}")
    elif isinstance(value, list) and isinstance(shape, Keyed | Values):
        for index, item in enumerate(value):
            yield from _atomics(item, shape.item, f"{path}[{index}]")
