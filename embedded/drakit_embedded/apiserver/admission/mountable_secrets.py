"""Secrets of pods whose account says that they may have no others than it names itself.

After k8s.io/kubernetes/plugin/pkg/admission/serviceaccount/admission.go, limitSecretReferences.
"""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object

_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
# strconv.ParseBool
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_CONTAINERS = (("initContainers", "init container"), ("containers", "container"))


def faults(spec: Object, account: Object) -> Iterator[str]:
    """Report why a pod may not have some of the secrets in its spec, in the order of Kubernetes' checks."""
    if (account["metadata"].get("annotations") or {}).get(_ENFORCED) not in _TRUE:
        return
    own, name = _names(account, "secrets"), account["metadata"]["name"]
    for secret, where in _used(spec):
        if secret not in own:
            yield (
                f'{where} secret.secretName="{secret}" is not allowed because service account {name} '
                "does not reference that secret"
            )
    pulling = _names(account, "imagePullSecrets")
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        if reference.get("name", "") not in pulling:
            yield (
                f'imagePullSecrets[{index}].name="{reference.get("name", "")}" is not allowed because service account '
                f"{name} does not reference that imagePullSecret"
            )


def _names(account: Object, field: str) -> set[str]:
    return {reference.get("name", "") for reference in account.get(field) or ()}


def _used(spec: Object) -> Iterator[tuple[str, str]]:
    """Find the names of secrets in volumes and variables, and where they stand."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            yield volume["secret"].get("secretName", ""), "volume with"
    for field, what in _CONTAINERS:
        for container in spec.get(field) or ():
            who = f"{what} {container.get('name', '')} with"
            for variable in container.get("env") or ():
                if (reference := (variable.get("valueFrom") or {}).get("secretKeyRef")) is not None:
                    yield reference.get("name", ""), f"{who} envVar {variable.get('name', '')} referencing"
            for source in container.get("envFrom") or ():
                if (reference := source.get("secretRef")) is not None:
                    yield reference.get("name", ""), f"{who} envFrom referencing"
