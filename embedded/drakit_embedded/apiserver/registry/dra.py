"""resource.k8s.io: ``drakit_api`` decides what is valid and what becomes of an object; here is when it is asked.

The one exception are ResourceSlices with mixins, which no Kubernetes release has: behind drakit's own gate they are
stored in KEP-5234's spelling, if they can be flattened and what comes out is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from drakit_api import validation
from drakit_api.features import MIXINS_GATE
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins
from drakit_api.layouts.fields import SPEC
from drakit_api.layouts.pools import PoolError
from drakit_api.layouts.strict_reading import Place, Problems
from drakit_api.objects import encoding, lifecycle, schema
from drakit_api.objects.defaults import set_defaults
from drakit_api.validation.claims.resourceclaim import ADMIN_LABEL
from drakit_api.validation.metadata import on_create
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme import metadata, structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import Cause, FieldFault, invalid

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates


def _decode(obj: Object, kind: Kind, validation_mode: str, cluster: Cluster) -> tuple[Object, list[str]]:
    """Decode by the types of the kind; they have no mixins, so the spec of a slice with mixins stays as it is.

    Whatever looks at it before it gets its spelling must find the right types, so that these are checked here.
    """
    if _native_mixins(obj, kind.plural, cluster.gates) and _convertible(obj):
        if faults := _unreadable(obj["spec"]):
            meta = obj.get("metadata")
            name = meta.get("name") if isinstance(meta, dict) else None
            raise invalid(kind.kind, kind.group, name if isinstance(name, str) else "", faults)
        decoded, warnings = structures.decode({**obj, "spec": {}}, kind, validation_mode)
        return {**decoded, "spec": obj["spec"]}, warnings
    return structures.decode(obj, kind, validation_mode)


def _native_mixins(obj: Object, plural: str, gates: FeatureGates) -> bool:
    """Check whether this is a slice with mixins on a server that takes those."""
    return plural == "resourceslices" and gates.enabled(MIXINS_GATE) and has_mixins(obj)


def has_mixins(obj: Object) -> bool:
    """Check whether a slice defines mixins or includes any."""
    spec = obj.get("spec")
    return isinstance(spec, dict) and ("mixins" in spec or _includes(spec))


def _includes(spec: Object) -> bool:
    """Check whether a device or counter set includes a mixin, also in the old spelling with ``basic``."""
    entries: list[Any] = []
    for field in ("devices", "sharedCounters"):
        listed = spec.get(field)
        entries += listed if isinstance(listed, list) else []
    entries += [entry["basic"] for entry in entries if isinstance(entry, dict) and "basic" in entry]
    return any(isinstance(entry, dict) and "includes" in entry for entry in entries)


def _convertible(obj: Object) -> bool:
    """Check whether the devices of an undecoded slice are objects, which conversion relies on."""
    devices = obj["spec"].get("devices") or []
    return isinstance(devices, list) and all(
        isinstance(device, dict) and isinstance(device.get("basic") or {}, dict) for device in devices
    )


class _Rules:
    """The rules of one kind: ``drakit_api`` under the name and the plural that it knows the kind by.

    ``version`` is the one in which objects are sent; the rules get them converted.
    """

    def __init__(self, plural: str, kind: str, version: str) -> None:
        self._plural, self._kind, self._version = plural, kind, version

    def strategy(self, **options: Any) -> Strategy:
        return Strategy(
            decode=_decode,
            canonical=self._canonical,
            owns_metadata=True,
            default=self._default,
            prepare_create=self._prepare_create,
            prepare_update=self._prepare_update,
            prepare_status=self._prepare_status,
            validate_create=self._validate_create,
            validate_update=self._validate_update,
            validate_status=self._validate_status,
            **options,
        )

    def _native(self, obj: Object, cluster: Cluster) -> bool:
        return _native_mixins(obj, self._plural, cluster.gates)

    def _canonical(self, obj: Object, cluster: Cluster) -> Object:
        if self._native(obj, cluster):
            return {**encoding.encode(self._kind, {**obj, "spec": {}}), "spec": obj["spec"]}
        return encoding.encode_once(self._kind, obj)

    def _default(self, obj: Object, cluster: Cluster) -> None:
        if not self._native(obj, cluster):
            set_defaults(self._kind, obj, metadata.timestamp(), self._version)

    def _respell(self, obj: Object, cluster: Cluster) -> None:
        """Convert the spec of a slice with mixins to the one spelling that schedulers read, with defaults."""
        if self._native(obj, cluster):
            obj["spec"] = SPEC(obj["spec"], Place(), Problems())
            set_defaults(self._kind, obj, metadata.timestamp(), self._version)

    def _prepare_create(self, obj: Object, cluster: Cluster) -> None:
        self._respell(obj, cluster)
        lifecycle.prepare_create(self._kind, obj, cluster.gates)

    def _prepare_update(self, new: Object, old: Object, cluster: Cluster) -> None:
        self._respell(new, cluster)
        lifecycle.prepare_update(self._kind, new, old, cluster.gates, now=metadata.timestamp())

    def _prepare_status(self, new: Object, old: Object, cluster: Cluster) -> None:
        lifecycle.prepare_status_update(self._kind, new, old, cluster.gates)

    def _validate_create(self, obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
        if self._native(obj, cluster):
            if faults := _mixin_faults(obj):
                return [*on_create(obj["metadata"], namespaced=False), *faults]
            obj = mixins.applied_to(obj)
        admin = _admin_namespace(obj, cluster)
        return validation.validate_create(
            self._plural, obj, cluster.gates, admin_namespace=admin, version=self._version
        )

    def _validate_update(self, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        if self._native(new, cluster):
            if faults := _mixin_faults(new):
                return faults
            new = mixins.applied_to(new)
        if self._native(old, cluster):
            old = mixins.applied_to(old)
        return validation.validate_update(self._plural, new, old, cluster.gates, version=self._version)

    def _validate_status(self, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        admin = _admin_namespace(new, cluster)
        return validation.validate_status_update(self._plural, new, old, cluster.gates, admin_namespace=admin)


def _admin_namespace(obj: Object, cluster: Cluster) -> bool:
    """Check whether the object's namespace is labelled for admin access."""
    name = obj["metadata"].get("namespace")
    namespace = cluster.find("namespaces", "", name) if name else None
    return namespace is not None and (namespace["metadata"].get("labels") or {}).get(ADMIN_LABEL) == "true"


def _unreadable(spec: Object) -> list[FieldFault]:
    """Find wrong types and names of fields in a spec with mixins."""
    problems = Problems()
    SPEC(spec, Place(), problems)
    return _faults(problems.lines())


def _mixin_faults(obj: Object) -> list[FieldFault]:
    """Validate the mixins, which the flattened slice no longer shows."""
    try:
        mixins.flatten(obj["spec"])
    except PoolError as error:
        return _faults(str(error).splitlines())
    return []


def _faults(lines: list[str]) -> list[FieldFault]:
    return [Cause("FieldValueInvalid", "spec", f"Invalid value: {line}") for line in lines]


def _slice_warnings(obj: Object) -> list[str]:
    """Warn of uppercase driver names (WarningsOnCreate of pkg/registry/resource/resourceslice/strategy.go)."""
    driver = (obj.get("spec") or {}).get("driver") or ""
    if driver == driver.lower():
        return []
    return [f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"]


def strategies(version: str = "v1") -> dict[tuple[str, str], Strategy]:
    """Build the strategies of the group for requests in a version."""

    def rules(plural: str, kind: str, **options: Any) -> dict[tuple[str, str], Strategy]:
        return {(schema.GROUP, plural): _Rules(plural, kind, version).strategy(**options)}

    slice_fields = ("spec.nodeName", "spec.driver", "spec.pool.name")
    return {
        **rules(
            "resourceslices",
            "ResourceSlice",
            fields=slice_fields,
            validate_same_spec=partial(validation.validate_metadata_update, "resourceslices"),
            returns_deleted=True,
            warn_of_create=_slice_warnings,
            warn_of_update=_slice_warnings,
        ),
        **rules("resourceclaims", "ResourceClaim", returns_deleted=True),
        **rules("resourceclaimtemplates", "ResourceClaimTemplate", returns_deleted=True),
        **rules("deviceclasses", "DeviceClass", returns_deleted=True),
        # In v1, DELETE answers with a Status rather than the deleted rule.
        **rules("devicetaintrules", "DeviceTaintRule", unconditional_update=False, returns_deleted=version != "v1"),
    }
