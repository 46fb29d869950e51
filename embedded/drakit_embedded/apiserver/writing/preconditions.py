"""What a request says of the object that it is meant for: its UID and its version.

Upstream looks in several places, and has words of its own in each: k8s.io/apiserver/pkg/registry/rest/delete.go, and
k8s.io/apiserver/pkg/storage/{interfaces,errors}.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.requests import unsigned
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Key

# Kinds that etcd stores under another name than their plural, for messages.
_STORED_AS = {"nodes": "minions", "services": "services/specs", "endpoints": "services/endpoints"}


def version_of(obj: Object) -> int:
    """Parse the resourceVersion of an object, 0 if it has none; 500 if it is no number, as upstream has it.

    ObjectResourceVersion of k8s.io/apiserver/pkg/storage/api_object_versioner.go.
    """
    try:
        return unsigned(obj["metadata"].get("resourceVersion") or "0")
    except ValueError as error:
        raise statuses.StatusError(500, "", str(error)) from None


def check_deletion(kind: Kind, stored: Object, *, uid: str | None, version: str | None) -> None:
    """Refuse with 409 a deletion that is meant for another object or version (BeforeDelete)."""
    meta: ObjectMeta = stored["metadata"]
    # Unlike elsewhere, upstream puts the kind here in place of the plural.
    if uid is not None and uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise statuses.conflict(kind.kind, kind.group, meta["name"], why)
    if version is not None and version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in "
            f"record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise statuses.conflict(kind.kind, kind.group, meta["name"], why)


def check_namespace_deletion(kind: Kind, stored: Object, *, uid: str | None, version: str | None) -> None:
    """Check the same of a namespace, with its own words (k8s.io/kubernetes/pkg/registry/core/namespace/storage)."""
    name = stored["metadata"]["name"]
    if why := _failed(stored, uid, version):
        raise statuses.conflict(kind.plural, kind.group, name, why)


def check_definition_deletion(kind: Kind, stored: Object, *, uid: str | None, version: str | None) -> None:
    """Check the same of a definition, with its own words (pkg/registry/customresourcedefinition/etcd.go)."""
    meta: ObjectMeta = stored["metadata"]
    for what, asked, there in (
        ("UID", uid, meta["uid"]),
        ("ResourceVersion", version, meta["resourceVersion"]),
    ):
        if asked is not None and asked != there:
            why = f"precondition failed: {what} in precondition: {asked}, {what} in object meta: {there}"
            raise statuses.conflict(kind.plural, kind.group, meta["name"], why)


def check_update(kind: Kind, stored: Object, *, uid: str | None, version: str | None = None) -> None:
    """Refuse with 409 an update that is meant for another object or version (storage.Preconditions); "" matches all."""
    if why := _failed(stored, uid or None, version or None):
        meta: ObjectMeta = stored["metadata"]
        parts = ("/registry", _STORED_AS.get(kind.stored_under, kind.stored_under), meta.get("namespace"), meta["name"])
        where = f"Code: 4, Key: {'/'.join(filter(None, parts))}, ResourceVersion: 0"
        why = f"StorageError: invalid object, {where}, AdditionalErrorMsg: {why}"
        raise statuses.conflict(kind.plural, kind.group, meta["name"], why)


def check_new(kind: Kind, key: Key, *, uid: str | None) -> None:
    """Check the same for an update that would create: what does not exist yet has no UID."""
    namespace, name = key
    check_update(kind, {"metadata": {"name": name, "namespace": namespace, "uid": "", "resourceVersion": ""}}, uid=uid)


def _failed(stored: Object, uid: str | None, version: str | None) -> str:
    meta: ObjectMeta = stored["metadata"]
    for what, wanted, found in (("UID", uid, meta["uid"]), ("ResourceVersion", version, meta["resourceVersion"])):
        if wanted is not None and wanted != found:
            return f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    return ""
