"""In which version kube-apiserver stores a kind, of which discovery has a hash.

Clients such as the storage version migrator compare it before and after an upgrade. This server keeps everything in
the newest version, whatever the hash says. Sources: k8s.io/kubernetes
pkg/kubeapiserver/default_storage_factory_builder.go (what is kept back for a release), k8s.io/apiserver
pkg/server/storage/resource_encoding_config.go (what an emulated version implies), pkg/endpoints/discovery/
storageversionhash.go.
"""

from __future__ import annotations

import base64
import hashlib

from drakit_embedded.apiserver.scheme.kinds import REVIEWS, Kind

_HELD_BACK = {
    "clustertrustbundles": "v1beta1",
    "customresourcedefinitions": "v1beta1",
    "devicetaintrules": "v1beta2",
    "horizontalpodautoscalers": "v2",
    "podcertificaterequests": "v1beta1",
    "resourcepoolstatusrequests": "v1alpha3",
    "storageversionmigrations": "v1beta1",
}
# Kinds whose v1 is younger than the oldest release that can be emulated: the minor release that brought it, and the
# version before it. A version that the previous release does not know is not used for storage yet.
_YOUNG = {
    "mutatingadmissionpolicies": (36, "v1beta1"),
    "mutatingadmissionpolicybindings": (36, "v1beta1"),
}
_NOT_STORED = REVIEWS | {"componentstatuses"}


def storage_hash(kind: Kind, minor: int) -> str:
    """Compute ``storageVersionHash`` of a kind at an emulated minor release; empty for what is not stored."""
    if kind.definition is not None:
        return _digest(kind.group, kind.definition.storage, kind.kind)
    if kind.plural in _NOT_STORED:
        return ""
    group = "" if kind.plural == "events" else kind.group
    return _digest(group, _version(kind, minor), kind.kind)


def _digest(group: str, version: str, kind: str) -> str:
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _version(kind: Kind, minor: int) -> str:
    since, before = _YOUNG.get(kind.plural, (0, ""))
    return before if minor - 1 < since else _HELD_BACK.get(kind.plural, "v1")
