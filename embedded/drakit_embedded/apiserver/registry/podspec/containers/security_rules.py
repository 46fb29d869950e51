"""What makes the security contexts of a pod and of its containers valid.

After validatePodSpecSecurityContext, ValidateSecurityContext and their neighbours in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go, without what Windows has of its own.
"""

from __future__ import annotations

import re

from drakit_api.core.containers import placed_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, duplicate, forbidden, invalid, not_supported, required, too_long
from drakit_embedded.apiserver.registry.podspec.internal_form import internal
from drakit_embedded.apiserver.registry.podspec.path_rules import descending

_HIGHEST_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS = ("Default", "Unmasked")
_ENUMERATIONS = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}
_LONGEST_PROFILE = 4095
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_IS_SYSCTL = re.compile(_SYSCTL)
_LONGEST_SYSCTL = 253
_OF_THE_NETWORK = ("net.",)
_OF_MEMORY = ("kernel.shm", "kernel.msg", "fs.mqueue.")
# Fields that Windows pods cannot have in security contexts, of pods and of containers.
_NOT_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_NOT_WINDOWS_CONTAINERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem"),
    *("privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)
_NOT_WINDOWS_PODS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")


def of_pod(spec: Object, path: str) -> Errors:
    """Validate ``spec.securityContext``."""
    context, path = spec["securityContext"], f"{path}.securityContext"
    if not context:
        return
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _identity(context.get(field), f"{path}.{field}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _identity(group, f"{path}.supplementalGroups[{index}]")
    yield from _sysctls(context.get("sysctls") or [], spec, f"{path}.sysctls")
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    for field, values in _ENUMERATIONS.items():
        if (value := context.get(field)) is not None and value not in values:
            yield not_supported(f"{path}.{field}", value, values)


def of_container(context: Object, path: str, *, host_users: bool) -> Errors:
    """Validate ``securityContext`` of a container; ``host_users`` says whether its users are the host's."""
    for field in ("runAsUser", "runAsGroup"):
        yield from _identity(context.get(field), f"{path}.{field}")
    if (mount := context.get("procMount")) is not None:
        if mount not in _PROC_MOUNTS:
            yield not_supported(f"{path}.procMount", mount, _PROC_MOUNTS)
        if host_users and mount == "Unmasked":
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from _escalation(context, path)
    yield from _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def of_system(spec: Object, path: str) -> Errors:
    """Validate ``spec.os``, and refuse what pods of that operating system cannot have."""
    name, context = spec["os"].get("name") or "", spec.get("securityContext") or {}
    containers = [
        (f"{at}.securityContext", container.get("securityContext") or {})
        for at, container in placed_containers(spec, path)
    ]
    if not name:
        yield required(f"{path}.os.name")
    elif name == "linux":
        for at, part in ((f"{path}.securityContext", context), *containers):
            if part.get("windowsOptions") is not None:
                yield forbidden(f"{at}.windowsOptions", "windows options cannot be set for a linux pod")
    elif name == "windows":
        parts = ((f"{path}.securityContext", context, _NOT_WINDOWS), (path, spec, _NOT_WINDOWS_PODS))
        for at, part, fields in (*parts, *((at, part, _NOT_WINDOWS_CONTAINERS) for at, part in containers)):
            for field in fields:
                if part.get(field) is not None:
                    yield forbidden(f"{at}.{field}", "cannot be set for a windows pod")
    else:
        yield not_supported(f"{path}.os", name, ("linux", "windows"))


def _identity(number: int | None, path: str) -> Errors:
    """Validate a user or group id."""
    if number is not None and not 0 <= number <= _HIGHEST_ID:
        yield invalid(path, number, f"must be between 0 and {_HIGHEST_ID}, inclusive")


def _escalation(context: Object, path: str) -> Errors:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    shown = internal("SecurityContext", context)
    if context.get("privileged"):
        yield invalid(path, shown, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        yield invalid(path, shown, detail)


def _sysctls(sysctls: list[Object], spec: Object, path: str) -> Errors:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            yield required(at)
        elif len(name.encode()) > _LONGEST_SYSCTL or not _IS_SYSCTL.fullmatch(name):
            yield invalid(at, name, f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield duplicate(at, name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith(_OF_THE_NETWORK):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted == "kernel.sem" or dotted.startswith(_OF_MEMORY)):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _seccomp(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return
    sort, file = profile.get("type") or "", profile.get("localhostProfile")
    if not sort:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif sort not in _PROFILES:
        yield not_supported(f"{path}.type", sort, _PROFILES)
    if sort != "Localhost":
        if file is not None:
            shown = internal("SeccompProfile", profile)
            yield invalid(f"{path}.localhostProfile", shown, "can only be set when seccomp type is Localhost")
    elif file is None:
        yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    else:
        yield from descending(file, f"{path}.localhostProfile")


def _app_armor(profile: Object | None, path: str) -> Errors:
    if profile is None:
        return
    sort, file, at = profile.get("type") or "", profile.get("localhostProfile"), f"{path}.localhostProfile"
    if sort == "Localhost":
        if file is not None and file != file.strip():
            yield invalid(at, file, "must not be padded with whitespace")
        elif not file:
            yield required(at, "must be set when AppArmor type is Localhost")
        if file is not None and len(file.encode()) > _LONGEST_PROFILE:
            yield too_long(at, _LONGEST_PROFILE)
    elif not sort:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif sort not in _PROFILES:
        yield not_supported(f"{path}.type", sort, _PROFILES)
    elif file is not None:
        yield invalid(at, file, "can only be set when AppArmor type is Localhost")
