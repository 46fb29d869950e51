"""What makes the mounts and block devices of a container valid.

After ValidateVolumeMounts and ValidateVolumeDevices in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, forbidden, invalid, not_found, not_supported, required
from drakit_embedded.apiserver.registry.podspec.path_rules import descending, no_backsteps

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")
_NOT_A_BLOCK = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def mounts(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Validate ``volumeMounts``; ``volumes`` are those of the pod that are valid, by name."""
    devices = {device.get("name") or "": device.get("devicePath") for device in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        at, name, target = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not target:
            yield required(f"{at}.mountPath")
        if target in seen:
            yield invalid(f"{at}.mountPath", target, "must be unique")
        seen.add(target)
        yield from _beside_devices(name, target, at, devices)
        if mount.get("subPath") or mount.get("subPathExpr"):
            yield from _sub_paths(mount, path, at)
        if mount.get("mountPropagation") is not None:
            yield from _propagation(mount, container, f"{path}.mountPropagation")
        if mount.get("recursiveReadOnly") is not None:
            yield from _recursion(mount, f"{path}.recursiveReadOnly")


def _beside_devices(name: str, target: str, at: str, devices: dict[str, str | None]) -> Errors:
    """Check that a mount is no block device, too; ``devices`` are the paths of these, by the volumes' names."""
    if name in devices:
        yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
    if target in devices.values():
        yield invalid(f"{at}.mountPath", target, "must not already exist as a path in volumeDevices")


def _sub_paths(mount: Object, path: str, at: str) -> Errors:
    """Validate sub-paths; upstream forgets the index of the mount in most of these errors."""
    plain, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    yield from descending(plain, f"{path}.subPath")
    if plain and expression:
        yield invalid(f"{at}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
    yield from descending(expression, f"{path}.subPathExpr")


def _propagation(mount: Object, container: Object, path: str) -> Errors:
    propagation = mount["mountPropagation"]
    if propagation not in _PROPAGATIONS:
        yield not_supported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        yield forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _recursion(mount: Object, path: str) -> Errors:
    recursion = mount["recursiveReadOnly"]
    if recursion in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield forbidden(path, "may only be specified when mountPropagation is None or not specified")
    elif recursion != "Disabled":
        yield not_supported(path, recursion, _RECURSIONS)


def devices(container: Object, path: str, volumes: dict[str, Object]) -> Errors:
    """Validate ``volumeDevices``, whose volumes must be persistent volume claims or ephemeral."""
    mounted = {mount.get("name") or "": mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
    seen_names: set[str] = set()
    seen_paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, target = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        yield from _device_name(name, f"{at}.name", seen_names, volumes)
        if not target:
            yield required(f"{at}.devicePath")
        if target in seen_paths:
            yield invalid(f"{at}.devicePath", target, "must be unique")
        if any(no_backsteps(target, "")):
            yield invalid(f"{at}.devicePath", target, "can not contain backsteps ('..')")
        else:
            seen_paths.add(target)
        if name in mounted:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if target in mounted.values():
            yield invalid(f"{at}.devicePath", target, "must not already exist as a path in volumeMounts")


def _device_name(name: str, path: str, seen: set[str], volumes: dict[str, Object]) -> Errors:
    if not name:
        yield required(path)
    if name in seen:
        yield invalid(path, name, "must be unique")
    if (volume := volumes.get(name)) is None:
        yield not_found(path, name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        yield invalid(path, name, _NOT_A_BLOCK)
    if name:
        seen.add(name)
