"""What people write into the volumes of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods.forms import create, pod

_ITEM = {"key": "k", "path": "p"}
_TOKEN = {"serviceAccountToken": {"path": "token"}}
_NAME = {"fieldRef": {"fieldPath": "metadata.name"}, "path": "name"}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def _projected(*sources: Object, **fields: Any) -> Object:
    return {"projected": {"sources": list(sources), **fields}}


def _ephemeral(**template: Any) -> Object:
    return {"ephemeral": {"volumeClaimTemplate": template}}


_SOURCES: dict[str, Object] = {
    "no name": {"name": "", "emptyDir": {}},
    "a name in capitals": {"name": "V", "emptyDir": {}},
    "no source": {},
    "two sources": {"emptyDir": {}, "hostPath": {"path": "/"}},
    "three sources": {"secret": {"secretName": "s"}, "configMap": {"name": "m"}, "csi": {"driver": "d"}},
    "a size below nothing": {"emptyDir": {"sizeLimit": "-1"}},
    "a path of the host": {"hostPath": {"path": "/a"}},
    "no path of the host": {"hostPath": {}},
    "a path of the host that goes up": {"hostPath": {"path": "/a/../b"}},
    "an unknown type of path": {"hostPath": {"path": "/a", "type": "Folder"}},
    "no secret": {"secret": {}},
    "a secret with a wrong mode": {"secret": {"secretName": "s", "defaultMode": 0o1000}},
    "a secret with a wrong item": {"secret": {"secretName": "s", "items": [{"key": "", "path": ""}]}},
    "a secret with an item that goes up": {"secret": {"secretName": "s", "items": [{**_ITEM, "path": "../a"}]}},
    "a secret with an item at the top": {"secret": {"secretName": "s", "items": [{**_ITEM, "path": "/a"}]}},
    "a secret with a dotted item": {"secret": {"secretName": "s", "items": [{**_ITEM, "path": "..a"}]}},
    "a secret with an item of a wrong mode": {"secret": {"secretName": "s", "items": [{**_ITEM, "mode": -1}]}},
    "no config map": {"configMap": {}},
    "a config map with a wrong mode": {"configMap": {"name": "m", "defaultMode": -1}},
    "a config map with a wrong item": {"configMap": {"name": "m", "items": [{}]}},
    "no claim": {"persistentVolumeClaim": {}},
    "a field": {"downwardAPI": {"items": [_NAME]}},
    "a field in no file": {"downwardAPI": {"items": [{**_NAME, "path": ""}]}},
    "a file of no field": {"downwardAPI": {"items": [{"path": "a"}]}},
    "a file of two fields": {
        "downwardAPI": {"items": [{**_NAME, "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}]}
    },
    "a file of an unknown field": {
        "downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}
    },
    "a file of an unnamed field": {"downwardAPI": {"items": [{"path": "a", "fieldRef": {}}]}},
    "a name that no claim can have": {"name": "Ä", **_ephemeral(spec=_CLAIM)},
    "a claim of its own of nothing": _ephemeral(),
    "a file of a limit of no container": {
        "downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}
    },
    "fields with wrong modes": {"downwardAPI": {"defaultMode": 0o1000, "items": [{**_NAME, "mode": 0o1000}]}},
    "a projection of nothing": _projected({}),
    "no projection": {"projected": {}},
    "a projection of two": _projected({"secret": {"name": "s"}, "configMap": {"name": "m"}}),
    "a projection of no secret": _projected({"secret": {}}),
    "a projection of no config map": _projected({"configMap": {}}),
    "a projection with a wrong item": _projected({"configMap": {"name": "m", "items": [{"key": "k", "path": ".."}]}}),
    "a projection with a wrong mode": _projected(_TOKEN, defaultMode=0o1000),
    "a projection of one path twice": _projected(
        {"secret": {"name": "s", "items": [_ITEM]}}, {"configMap": {"name": "m", "items": [_ITEM]}}
    ),
    "a token": _projected(_TOKEN),
    "a token of no file": _projected({"serviceAccountToken": {"path": ""}}),
    "a token for a minute": _projected({"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}),
    "a token for ever": _projected({"serviceAccountToken": {"path": "t", "expirationSeconds": 2**33}}),
    "a token at the top": _projected({"serviceAccountToken": {"path": "/t"}}),
    "a projected field": _projected({"downwardAPI": {"items": [_NAME]}}),
    "a projected field of no file": _projected({"downwardAPI": {"items": [{**_NAME, "path": ""}]}}),
    "no driver": {"csi": {}},
    "a driver with a slash": {"csi": {"driver": "a/b"}},
    "a driver with an unnamed secret": {"csi": {"driver": "d", "nodePublishSecretRef": {}}},
    "no server": {"nfs": {"server": "", "path": ""}},
    "a relative path of a server": {"nfs": {"server": "s", "path": "a"}},
    "a claim of its own": _ephemeral(spec=_CLAIM),
    "no claim of its own": {"ephemeral": {}},
    "a claim of its own without modes": _ephemeral(spec={"resources": _CLAIM["resources"]}),
    "a claim of its own with an unknown mode": _ephemeral(spec={**_CLAIM, "accessModes": ["ReadOnly"]}),
    "a claim of its own without size": _ephemeral(spec={"accessModes": _CLAIM["accessModes"]}),
    "a claim of its own with a name": _ephemeral(metadata={"name": "a"}, spec=_CLAIM),
    "an image": {"image": {"reference": "i:1", "pullPolicy": "Always"}},
    "an image of no name": {"image": {"pullPolicy": "Always"}},
    "an image with an unknown policy": {"image": {"reference": "i:1", "pullPolicy": "Sometimes"}},
}


def made() -> Iterator[Vector]:
    """Pods of one volume, and some of two."""
    for name, source in _SOURCES.items():
        yield create(f"volume: {name}", pod(volumes=[{"name": "v", **source}]), "spec.volumes")
    yield create("volumes: a name twice", pod(volumes=[{"name": "v", "emptyDir": {}}] * 2))
    own = {"name": "own", **_ephemeral(spec=_CLAIM)}
    taken = {"name": "v", "persistentVolumeClaim": {"claimName": "p-own"}}
    yield create("volumes: a claim that is another's own", pod(volumes=[own, taken]))
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    wrong = pod(volumes=[{"name": "v", "secret": {}}], containers=[{"name": "c", "image": "i", **mount}])
    yield create("volumes: a mount of one that is wrong", wrong)
