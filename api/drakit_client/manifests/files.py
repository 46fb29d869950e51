"""The objects of files that decide about allocations, in v1 and with the defaults of an API server.

What is read is judged as a server would: unknown fields, wrong types and broken rules are errors, for an answer about
another object than the one that was meant is worse than none. Status is kept, so that allocated claims count.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from drakit_api.features import MIXINS_GATE, PATCHES_GATE, FeatureGates
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins
from drakit_api.layouts.pools import PoolError
from drakit_api.objects import conversion, decoding, schema
from drakit_api.objects.allocations import results
from drakit_api.objects.decoding import DecodeError
from drakit_api.objects.defaults import set_defaults
from drakit_api.validation import validate_create
from drakit_client.manifests import core_objects
from drakit_client.manifests.documents import Document, ManifestError, documents
from drakit_client.resources import RESOURCE_SLICE_PATCHES

_PLURALS = {
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "DeviceTaintRule": "devicetaintrules",
}
_NAMESPACED = frozenset({"ResourceClaim", "ResourceClaimTemplate", "Pod"})
_CORE = frozenset({"Node", "Pod"})
_PATCH = RESOURCE_SLICE_PATCHES.kind
_RESULT = ("request", "driver", "pool", "device")
# Which fields a server would drop is for the gates to say; whether what is written makes sense is not.
_ALL_ON = FeatureGates(overrides={"AllAlpha": True, "AllBeta": True})

Key = tuple[str, str]  # namespace (or "") and name


@dataclass(slots=True)
class Manifests:
    """Objects by kind, then by namespace and name, in the order of the files.

    ``ignored`` counts kinds that do not matter here, ``replaced`` names objects that a later file has again,
    ``patches_off`` are the ResourceSlicePatches that do not count as their feature gate is off.
    """

    by_kind: dict[str, dict[Key, Object]] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)
    replaced: list[str] = field(default_factory=list)
    patches_off: int = 0

    def of(self, kind: str) -> list[Object]:
        """List all objects of a kind."""
        return list(self.by_kind.get(kind, {}).values())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object; None if there is none."""
        return self.by_kind.get(kind, {}).get((namespace, name))


def read_manifests(paths: Sequence[str], gates: FeatureGates) -> Manifests:
    """Read files; ``-`` is standard input. As when files are applied, a later object replaces an earlier one.

    Mixins are applied with the gate DRAResourceSliceMixins, patches are there with DRAAdminControlledDeviceAttributes.
    Raises ``ManifestError`` with everything that is wrong.
    """
    manifests, errors = Manifests(), []
    now = gotime.now()
    for document in documents(paths):
        try:
            _take(document, manifests, gates, now)
        except ManifestError as error:
            errors += [f"{document.place}: {line}" for line in error.errors]
    if errors:
        raise ManifestError(errors)
    if not gates.enabled(PATCHES_GATE):
        manifests.patches_off = len(manifests.by_kind.pop(_PATCH, {}))
    return manifests


def _take(document: Document, manifests: Manifests, gates: FeatureGates, now: str) -> None:
    kind, api_version = document.content.get("kind"), document.content.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        is_layout = "devices" in document.content or "sharedCounters" in document.content
        hint = "; a layout becomes ResourceSlices with drakit driver slices layout FILE" if is_layout else ""
        raise ManifestError([f"apiVersion and kind: required{hint}"])
    group, _, version = api_version.rpartition("/")
    if group == schema.GROUP and kind in _PLURALS:
        obj = _resource(kind, version, document.content, gates, now)
    elif not group and kind in _CORE:
        obj = copy.deepcopy(document.content)
    elif kind == _PATCH and group in (schema.GROUP, RESOURCE_SLICE_PATCHES.group):
        obj = _patch(document.content)
    else:
        manifests.ignored[kind] += 1
        return
    _name(kind, obj, manifests)
    obj, faults = _judged(kind, obj)
    if faults:
        raise ManifestError([f"{kind} {obj['metadata']['name']}: {fault}" for fault in faults])
    namespace = obj["metadata"].get("namespace", "")
    known = manifests.by_kind.setdefault(kind, {})
    key = (namespace, obj["metadata"]["name"])
    if key in known:
        manifests.replaced.append(f"{kind} {'/'.join(filter(None, key))} of {document.place}")
    known[key] = obj


def _resource(kind: str, version: str, content: Object, gates: FeatureGates, now: str) -> Object:
    """Convert an object of resource.k8s.io to v1, and set its defaults. Raises ``ManifestError``."""
    try:
        known = conversion.versions(kind)
        if version not in known:
            raise ManifestError([f"{kind} in {schema.GROUP}/{version}: versions of it are {', '.join(known)}"])
        if kind == "ResourceSlice" and gates.enabled(MIXINS_GATE):
            content, version = _without_mixins(content, version)
        obj = conversion.to_v1(kind, decoding.decode(kind, content, version), version)
    except (DecodeError, PoolError) as error:
        hint = f"; mixins need --feature-gates {MIXINS_GATE}=true" if "mixins" in str(error) else ""
        raise ManifestError([line + hint for line in str(error).splitlines()]) from None
    obj = copy.deepcopy(obj)
    set_defaults(kind, obj, now, version)
    return obj


def _patch(content: Object) -> Object:
    """Copy a patch. Raises ``ManifestError`` for another version, or the group that KEP-5027 had in mind."""
    if (version := content["apiVersion"]) != RESOURCE_SLICE_PATCHES.api_version:
        raise ManifestError([f"{_PATCH} in {version}: there is {RESOURCE_SLICE_PATCHES.api_version} only"])
    return copy.deepcopy(content)


def _without_mixins(content: Object, version: str) -> tuple[Object, str]:
    """Apply the mixins of a slice, which is then in v1; one without mixins stays as it is. Raises ``PoolError``."""
    spec = content.get("spec")
    if not isinstance(spec, dict):
        return content, version
    has_includes = any(
        isinstance(entry, dict) and "includes" in entry | (entry.get("basic") or {})
        for member in ("devices", "sharedCounters")
        for entry in spec.get(member) or ()
    )
    if "mixins" not in spec and not has_includes:
        return content, version
    flat = mixins.flatten(spec)
    kept = {key: value for key, value in spec.items() if key not in ("mixins", "devices", "sharedCounters")}
    members = {"sharedCounters": flat.shared_counters, "devices": flat.devices}
    kept |= {member: entries for member, entries in members.items() if entries}
    return {**content, "apiVersion": f"{schema.GROUP}/v1", "spec": kept}, "v1"


def _name(kind: str, obj: Object, manifests: Manifests) -> None:
    """Name an object as a server does: the default namespace, and a name for one with only the beginning of a name."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ManifestError([f"{kind}: metadata: required"])
    if kind in _NAMESPACED:
        metadata.setdefault("namespace", "default")
    else:
        metadata.pop("namespace", None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = f"{metadata['generateName']}{len(manifests.by_kind.get(kind, ())):05}"
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ManifestError([f"{kind}: metadata.name: required"])
    if kind == "Pod" and not isinstance(obj.get("spec"), dict):
        raise ManifestError([f"Pod {metadata['name']}: spec: required"])


def _judged(kind: str, obj: Object) -> tuple[Object, list[str]]:
    """Return an object as a server would store it, and what one with any gates would refuse of it."""
    if kind in _CORE:
        return obj, core_objects.faults(kind, obj)
    if kind == _PATCH:
        # Most files have no patches, and what judges them takes longer to load than the rest does to read them.
        from drakit_api.slice_patches import definition

        return definition.read(obj)
    return obj, _refused(kind, obj)


def _refused(kind: str, obj: Object) -> list[str]:
    judged = {key: value for key, value in obj.items() if key != "status"}
    errors = [str(error) for error in validate_create(_PLURALS[kind], judged, _ALL_ON, admin_namespace=True)]
    for number, result in enumerate(results(obj)):
        errors += [
            f"status.allocation.devices.results[{number}].{name}: required" for name in _RESULT if not result.get(name)
        ]
    return list(dict.fromkeys(errors))
