"""What makes the containers of a pod valid, each and together.

After validateContainers, validateInitContainers and validateEphemeralContainers in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go, with the gates as they are by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from drakit_api.core.containers import LASTING, containers_of, is_sidecar, placed_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    invalid_constant,
    not_found,
    not_supported,
    required,
    too_many,
)
from drakit_embedded.apiserver.registry.podspec.containers import (
    env_rules,
    mount_rules,
    probe_rules,
    resource_rules,
    security_rules,
)

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESIZABLE = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_MOST_RULES, _MOST_CODES = 20, 255
_WITH_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *probe_rules.PROBES,
    "lifecycle",
)


@dataclass(slots=True)
class Surroundings:
    """What containers refer to: the pod's spec, its valid volumes by name, and the names of its claims in order.

    ``names`` are those of the containers that are validated already.
    """

    spec: Object
    volumes: dict[str, Object]
    claims: Sequence[str]
    names: set[str] = field(default_factory=set)

    @property
    def host_users(self) -> bool:
        """Whether users in the pod are those of the host."""
        return self.spec.get("hostUsers") is not False


def containers(around: Surroundings, path: str) -> Errors:
    """Validate all containers of a spec; ``path`` is that of the spec."""
    listed = list(placed_containers(around.spec, path, ("containers",)))
    if not listed:
        yield required(f"{path}.containers")
    for at, container in listed:
        yield from _common(container, at, around)
        yield from _unique(container, at, around)
        yield from probe_rules.probes_and_hooks(container, at, around.spec)
        yield from _restarts(container, at)
    yield from _host_ports(listed)
    for at, container in placed_containers(around.spec, path, ("initContainers",)):
        yield from _init_container(container, at, around)
    for at, container in placed_containers(around.spec, path, ("ephemeralContainers",)):
        yield from _ephemeral(container, at, around)


def blank_image(image: str, path: str) -> Errors:
    """Refuse blanks around an image; for pods only, as stored templates may have them."""
    if image != image.strip():
        yield invalid(path, image, "must not have leading or trailing whitespace")


def pull_policy(policy: str, path: str) -> Errors:
    """Validate the pull policy of a container, or of a volume that is an image."""
    if not policy:
        yield required(path)
    elif policy not in _PULL_POLICIES:
        yield not_supported(path, policy, _PULL_POLICIES)


def _common(container: Object, path: str, around: Surroundings) -> Errors:
    """Validate what all sorts of containers have in common (validateContainerCommon)."""
    name = container.get("name") or ""
    yield from names.dns_label(name, f"{path}.name") if name else [required(f"{path}.name")]
    if not container.get("image"):
        yield required(f"{path}.image")
    if (policy := container.get("terminationMessagePolicy")) not in _MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    for key, rules in (("ports", _ports), ("env", env_rules.variables), ("envFrom", env_rules.all_of)):
        if found := container.get(key):
            yield from rules(found, f"{path}.{key}")
    if container.get("volumeMounts"):
        yield from mount_rules.mounts(container, f"{path}.volumeMounts", around.volumes)
    if container.get("volumeDevices"):
        yield from mount_rules.devices(container, f"{path}.volumeDevices", around.volumes)
    yield from pull_policy(container.get("imagePullPolicy") or "", f"{path}.imagePullPolicy")
    if resources := container.get("resources"):
        yield from resource_rules.of_container(resources, f"{path}.resources", around.claims)
    if policies := container.get("resizePolicy"):
        yield from _resize_policies(policies, f"{path}.resizePolicy", around.spec)
    if context := container.get("securityContext"):
        yield from security_rules.of_container(context, f"{path}.securityContext", host_users=around.host_users)


def _unique(container: Object, path: str, around: Surroundings) -> Errors:
    name = container.get("name") or ""
    if name in around.names:
        yield duplicate(f"{path}.name", name)
    around.names.add(name)


def _ports(ports: list[Object], path: str) -> Errors:
    """Validate the ports of a container (validateContainerPorts)."""
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name") or ""
        if name and (wrong := list(probe_rules.port_name(name, f"{at}.name"))):
            yield from wrong
        elif name and name in seen:
            yield duplicate(f"{at}.name", name)
        else:
            seen.add(name)
        number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
        inside = f"{at}.containerPort"
        yield from probe_rules.port_number(number, inside) if number else [required(inside)]
        if host:
            yield from probe_rules.port_number(host, f"{at}.hostPort")
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", port.get("protocol") or "", _PROTOCOLS)


def _host_ports(listed: Iterable[tuple[str, Object]]) -> Errors:
    """Find host ports that containers which run together both want (checkHostPortConflicts); each with its path."""
    taken: set[str] = set()
    for path, container in listed:
        for index, port in enumerate(container.get("ports") or ()):
            if not (host := port.get("hostPort")):
                continue
            shown = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{host}"
            if shown in taken:
                yield duplicate(f"{path}.ports[{index}].hostPort", shown)
            taken.add(shown)


def _init_container(container: Object, path: str, around: Surroundings) -> Errors:
    yield from _common(container, path, around)
    yield from _restarts(container, path)
    yield from _unique(container, path, around)
    # Init containers run one by one, so their host ports do not conflict.
    yield from _host_ports([(path, container)])
    if is_sidecar(container):
        yield from probe_rules.probes_and_hooks(container, path, around.spec)
        return
    for part in ("lifecycle", *probe_rules.PROBES):
        if container.get(part) is not None:
            yield forbidden(f"{path}.{part}", _WITH_SIDECARS)
    for number, resize in enumerate(container.get("resizePolicy") or ()):
        if resize.get("restartPolicy") == "RestartContainer":
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{path}.resizePolicy[{number}].restartPolicy", "RestartContainer", detail)


def _ephemeral(container: Object, path: str, around: Surroundings) -> Errors:
    others = {other.get("name") or "" for other in containers_of(around.spec, LASTING)}
    yield from _common(container, path, around)
    yield from blank_image(container.get("image") or "", f"{path}.image")
    yield from _unique(container, path, around)
    target = container.get("targetContainerName") or ""
    if target and target not in others:
        yield not_found(f"{path}.targetContainerName", target)
    for part in _NOT_EPHEMERAL:
        if container.get(part):
            yield forbidden(f"{path}.{part}", "cannot be set for an Ephemeral Container")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for part in ("subPath", "subPathExpr"):
            if mount.get(part):
                yield forbidden(f"{path}.volumeMounts[{index}].{part}", "cannot be set for an Ephemeral Container")


def _restarts(container: Object, path: str) -> Errors:
    """Validate the restart policy and rules of a container (validateContainerRestartPolicy)."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None and rules:
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy is not None and policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _restart_rule(rule, f"{path}.restartPolicyRules[{index}]")


def _restart_rule(rule: Object, path: str) -> Errors:
    if rule.get("action") not in _ACTIONS:
        yield not_supported(f"{path}.action", rule.get("action") or "", _ACTIONS)
    codes: dict[str, Any] | None = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator") not in _OPERATORS:
        yield not_supported(f"{path}.exitCodes.operator", codes.get("operator") or "", _OPERATORS)
    if len(codes.get("values") or ()) > _MOST_CODES:
        yield too_many(f"{path}.exitCodes.values", len(codes["values"]), _MOST_CODES)


def _resize_policies(policies: list[Object], path: str, spec: Object) -> Errors:
    """Validate resize policies; upstream forgets the index in most errors (validateResizePolicy)."""
    seen: set[str] = set()
    for index, each in enumerate(policies):
        name, policy = each.get("resourceName") or "", each.get("restartPolicy") or ""
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for value, values in ((name, _RESIZABLE), (policy, _RESIZE_POLICIES)):
            if not value:
                yield required(path)
            elif value not in values:
                yield not_supported(path, value, values)
        if spec.get("restartPolicy") == "Never" and policy != "NotRequired":
            yield invalid_constant(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
