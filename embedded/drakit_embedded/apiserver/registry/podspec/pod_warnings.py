"""What a client is told of a pod that is valid, but probably not what was meant.

After WarningsOnCreate in k8s.io/kubernetes/pkg/registry/core/pod/strategy.go and pkg/api/pod/warnings.go, without what
that says of volumes and annotations that no longer do anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api import formats
from drakit_api.core import pod_affinity
from drakit_api.core.containers import placed_containers
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.quantity import Quantity
from drakit_embedded.apiserver.registry.podspec import node_label_warnings

_BYTES = ("memory", "ephemeral-storage")
_NO_POD = "a null labelSelector results in matching no pod"


def on_create(pod: Object) -> Sequence[str]:
    """Collect the warnings about a new pod; updates, which people rarely make, are not warned about."""
    spec = pod.get("spec") or {}
    return [*_of_name(pod["metadata"].get("name") or ""), *_of_spec(spec)]


def _of_name(name: str) -> Iterator[str]:
    if problems := formats.dns_label(name, "characters"):
        why = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: {why}: [{' '.join(problems)}]"


def _of_spec(spec: Object) -> Iterator[str]:
    yield from node_label_warnings.of_spec(spec)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        path = f"spec.topologySpreadConstraints[{index}]"
        yield from node_label_warnings.of_key(constraint.get("topologyKey"), f"{path}.topologyKey")
        if constraint.get("labelSelector") is None:
            yield f"{path}.labelSelector: {_NO_POD}"
    yield from _repeated(spec.get("hostAliases"), "spec.hostAliases", "ip")
    yield from _repeated(spec.get("imagePullSecrets"), "spec.imagePullSecrets", "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'spec.imagePullSecrets[{index}].name: invalid empty name ""'
    containers = list(placed_containers(spec, "spec"))
    for path, container in containers:
        yield from _fractions(container.get("resources") or {}, f"{path}.resources")
        yield from _hidden_variables(container.get("env") or (), f"{path}.env")
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    yield from _overlapping(ports)
    yield from _same_names(ports)
    for path, term in pod_affinity.terms(spec):
        if term.get("labelSelector") is None:
            yield f"spec.{path}.labelSelector: {_NO_POD}"


def _repeated(items: list[Object] | None, path: str, key: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items or ()):
        value = item.get(key) or ""
        if value in seen:
            yield f"{path}[{index}].{key}: duplicate {key} {quote(value)}"
        seen.add(value)


def _fractions(resources: Object, path: str) -> Iterator[str]:
    for name in _BYTES:
        for field in ("limits", "requests"):
            text = (resources.get(field) or {}).get(name)
            if text is not None and not Quantity.parse(text).is_integer:
                yield f"{path}.{field}[{name}]: fractional byte value {quote(text)} is invalid, must be an integer"


def _hidden_variables(variables: Sequence[Object], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        extends = "valueFrom" not in variable and value != reference and reference in value
        if name in seen and not extends:
            yield (
                f"{path}[{index}]: hides previous definition of {quote(name)}, which may be dropped when using apply"
            )
        seen.add(name)


def _overlapping(ports: Sequence[tuple[str, Object]]) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for path, port in ports:
        others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for where, other in others:
            if how := _overlap(port, other):
                yield f"{path}: {how} port definition with {where}"
        others.append((path, port))


def _overlap(port: Object, other: Object) -> str:
    hosts = [one.get("hostPort", 0) for one in (port, other)]
    addresses = [one.get("hostIP", "") for one in (port, other)]
    if hosts[0] == hosts[1] and addresses[0] == addresses[1]:
        return "duplicate"
    if 0 in hosts:
        return "overlapping"
    if hosts[0] == hosts[1] and "" in addresses:
        return "dangerously ambiguous"
    return ""


def _same_names(ports: Sequence[tuple[str, Object]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for path, port in ports:
        name = port.get("name")
        if name and name in known:
            used = f"services and probes that select ports by name will use {known[name]}"
            yield f"{path}: duplicate port name {quote(name)} with {known[name]}, {used}"
        elif name:
            known[name] = path
