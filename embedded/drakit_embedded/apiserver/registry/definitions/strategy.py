"""The strategy of CustomResourceDefinitions.

Source: ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/registry/customresourcedefinition/strategy.go`` and
``pkg/apis/apiextensions/v1/defaults.go``. Its rules are loaded when the first definition is written: a cluster without
definitions needs no CEL of schemas.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.definitions import deletion
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import FieldFault

_HTTPS = 443


def _decode(obj: Object, kind: Kind, validation: str, cluster: Cluster) -> tuple[Object, list[str]]:
    from drakit_embedded.apiserver.registry.definitions import decoding

    return decoding.decode(obj, kind, validation, cluster)


def _restore(obj: Object, kind: Kind) -> Object:
    from drakit_embedded.apiserver.registry.definitions import schema_restoring

    return schema_restoring.restored(structures.restored(obj, kind))


def _default(crd: Object, cluster: Cluster) -> None:
    """Set names, conversion, the port of a webhook and the stored version, where they lack."""
    spec, names = crd["spec"], crd["spec"]["names"]
    if not names.get("singular") and names.get("kind"):
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = _HTTPS
    _note_storage(crd, only_if_none=True)


def _note_storage(crd: Object, *, only_if_none: bool = False) -> None:
    """Add the storage version to those that objects may be stored in."""
    stored = crd["status"].get("storedVersions") or []
    name = next((each["name"] for each in crd["spec"].get("versions") or () if each["storage"]), None)
    if name is not None and name not in stored and not (stored and only_if_none):
        crd["status"]["storedVersions"] = [*stored, name]


def _prepare_create(crd: Object, cluster: Cluster) -> None:
    crd["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": None,
    }
    _note_storage(crd)


def _prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
    _note_storage(new)


def _prepare_status(new: Object, old: Object, cluster: Cluster) -> None:
    """Set the stored version if the new status has none, which upstream does when it reads what it has stored."""
    new.setdefault("status", {})
    _note_storage(new, only_if_none=True)


def _validate_create(crd: Object, cluster: Cluster) -> Sequence[FieldFault]:
    from drakit_embedded.apiserver.registry.definitions import object_rules

    return object_rules.on_create(crd)


def _validate_update(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    from drakit_embedded.apiserver.registry.definitions import object_rules

    return object_rules.on_update(new, old)


def _validate_status(new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
    from drakit_embedded.apiserver.registry.definitions import object_rules

    return object_rules.on_status_update(new, old)


def _warn(crd: Object, old: Object | None = None) -> Sequence[str]:
    from drakit_embedded.apiserver.registry.definitions import schema_warnings

    return schema_warnings.warnings(crd, old)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): Strategy(
        decode=_decode,
        restore=_restore,
        owns_metadata=True,
        default=_default,
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        prepare_status=_prepare_status,
        validate_create=_validate_create,
        validate_update=_validate_update,
        validate_status=_validate_status,
        warn_of_create=_warn,
        warn_of_change=_warn,
        generation=True,
        begin_deletion=deletion.begin,
        unconditional_update=False,
    )
}
