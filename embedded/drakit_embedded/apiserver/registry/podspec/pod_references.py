"""The other objects that a pod's spec names (k8s.io/kubernetes/pkg/api/pod/util.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.core.containers import containers_of
from drakit_api.kubernetes_objects import Object

# Where each type of volume names a secret of the pod's namespace.
_VOLUME_SECRETS = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("secretName",),
    "storageos": ("secretRef", "name"),
}


def secrets(spec: Object) -> Iterator[str]:
    """Find the names of secrets; a name may come several times."""
    names = [reference.get("name") for reference in spec.get("imagePullSecrets") or ()]
    names += _from_environment(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for sort, path in _VOLUME_SECRETS.items():
            value: Any = volume.get(sort)
            for step in path:
                value = (value or {}).get(step)
            names.append(value)
    names += [(source.get("secret") or {}).get("name") for source in projected(spec)]
    return (name for name in names if name)


def config_maps(spec: Object) -> Iterator[str]:
    """Find the names of config maps; a name may come several times."""
    names = _from_environment(spec, "configMapRef", "configMapKeyRef")
    names += [(volume.get("configMap") or {}).get("name") for volume in spec.get("volumes") or ()]
    names += [(source.get("configMap") or {}).get("name") for source in projected(spec)]
    return (name for name in names if name)


def _from_environment(spec: Object, whole: str, key: str) -> list[Any]:
    names = []
    for container in containers_of(spec):
        names += [(source.get(whole) or {}).get("name") for source in container.get("envFrom") or ()]
        values = [variable.get("valueFrom") or {} for variable in container.get("env") or ()]
        names += [(value.get(key) or {}).get("name") for value in values]
    return names


def projected(spec: Object) -> Iterator[Object]:
    """Iterate over the sources of projected volumes."""
    for volume in spec.get("volumes") or ():
        yield from (volume.get("projected") or {}).get("sources") or ()


def volume_claims(pod: Object) -> Iterator[str]:
    """Find the names of persistent volume claims, also of those that are created for the pod's ephemeral volumes."""
    claims = (volume_claim(pod, volume) for volume in (pod.get("spec") or {}).get("volumes") or ())
    return (claim for claim in claims if claim is not None)


def volume_claim(pod: Object, volume: Object) -> str | None:
    """Find the name of the persistent volume claim behind a volume of a pod; None if it has none."""
    if claim := volume.get("persistentVolumeClaim"):
        return str(claim.get("claimName", ""))
    return f"{pod['metadata']['name']}-{volume.get('name', '')}" if volume.get("ephemeral") else None
