"""One CDI specification: read without trusting it, and refused for what containerd refuses it for.

Anybody who can write to a CDI directory can put anything there, and what a kubelet reads it reads for all pods of its
node. So files are opened as ``regular_files`` does, and there are bounds on their size, their depth and their number
of values, below which parsing takes milliseconds. Then the rules of tags.cncf.io/container-device-interface v1.1.1
(pkg/cdi, pkg/parser, specs-go/version.go), which containerd 2.4 uses; to it a specification with one mistake does not
exist, with all of its devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from drakit_client.files import regular_files

_VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
_EARLIEST = "0.3.0"
_QUALIFIER = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
_MOST_VALUES = 20_000
_DEEPEST = 32

_Uint32 = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]


class SpecError(ValueError):
    """A file that is no CDI specification; the message says why, as the CDI library does."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    pass


class DeviceNode(_Strict):
    """A device node that a container gets at ``path``."""

    path: str = ""
    host_path: str = ""
    type: str = ""
    major: int = 0
    minor: int = 0
    # Often written in octal in YAML.
    file_mode: int | str | None = None
    permissions: str = ""
    uid: _Uint32 | None = None
    gid: _Uint32 | None = None


class Mount(_Strict):
    """A file or directory of the host that a container gets at ``container_path``."""

    host_path: str = ""
    container_path: str = ""
    options: list[str] | None = None
    type: str = ""


class Hook(_Strict):
    """A program that would be run around a container."""

    hook_name: str = ""
    path: str = ""
    args: list[str] | None = None
    env: list[str] | None = None
    timeout: int | None = None


class NetDevice(_Strict):
    """A network interface that would be moved into a container."""

    host_interface_name: str = ""
    name: str = ""


class IntelRdt(_Strict):
    """Intel RDT: shares of the cache and of memory bandwidth."""

    clos_id: str = msgspec.field(default="", name="closID")
    l3_cache_schema: str = msgspec.field(default="", name="l3CacheSchema")
    mem_bw_schema: str = ""
    schemata: list[str] | None = None
    enable_monitoring: bool = False


class ContainerEdits(_Strict):
    """What is added to a container."""

    env: list[str] | None = None
    device_nodes: list[DeviceNode] | None = None
    net_devices: list[NetDevice] | None = None
    hooks: list[Hook] | None = None
    mounts: list[Mount] | None = None
    intel_rdt: IntelRdt | None = None
    additional_gids: list[_Uint32] | None = None


class CdiDevice(_Strict):
    """A device, by name, and what a container gets for it."""

    name: str = ""
    annotations: dict[str, str] | None = None
    container_edits: ContainerEdits = msgspec.field(default_factory=ContainerEdits)


class CdiSpec(_Strict):
    """One specification, the content of a file."""

    cdi_version: str = ""
    kind: str = ""
    annotations: dict[str, str] | None = None
    devices: list[CdiDevice] | None = None
    container_edits: ContainerEdits = msgspec.field(default_factory=ContainerEdits)


def read(path: Path) -> CdiSpec:
    """Return the specification in a file; raises ``SpecError``, or ``OSError`` if it may not be read."""
    raw = regular_files.read(path)
    try:
        if path.suffix == ".json":
            spec = msgspec.json.decode(raw, type=CdiSpec)
        else:
            _check_extent(raw)
            # As in Go, the type of the field decides what a scalar is: `name: 0` is a text.
            spec = msgspec.convert(yaml.load(raw, Loader=yaml.CBaseLoader), CdiSpec, strict=False)  # noqa: S506
    except (msgspec.MsgspecError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise SpecError(f"failed to parse CDI Spec: {error}") from error
    if (problem := next(_problems(spec), None)) is not None:
        raise SpecError(f"invalid CDI Spec: {problem}")
    return spec


def _check_extent(raw: bytes) -> None:
    """Refuse YAML that takes long to compose, by what its parser reports.

    The composer calls itself for each level, in C and without a limit, and an alias can stand for any number of values.
    """
    loader, depth, values = yaml.CSafeLoader(raw), 0, 0
    try:
        while (event := loader.get_event()) is not None and not isinstance(event, yaml.DocumentEndEvent):
            values += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent):
                raise SpecError(f"aliases such as *{event.anchor} are not taken")
            if depth > _DEEPEST or values > _MOST_VALUES:
                raise SpecError(f"more than {_DEEPEST} levels or {_MOST_VALUES} values")
    finally:
        loader.dispose()


def _problems(spec: CdiSpec) -> Iterator[str]:
    yield from _version_problems(spec)
    vendor, slash, kind_class = spec.kind.partition("/")
    if not (slash and _QUALIFIER.fullmatch(vendor)):
        yield f"invalid vendor. {vendor!r} of kind {spec.kind!r}"
    if not _QUALIFIER.fullmatch(kind_class):
        yield f"invalid class. {kind_class!r} of kind {spec.kind!r}"
    yield from _edit_problems(spec.container_edits)
    names: set[str] = set()
    for device in spec.devices or ():
        for problem in _device_problems(device):
            yield f'failed add device "{device.name}": {problem}'
        if device.name in names:
            yield f'invalid spec, multiple device "{device.name}"'
        names.add(device.name)
    if not names:
        yield "invalid spec, no devices"


def _version_problems(spec: CdiSpec) -> Iterator[str]:
    version = spec.cdi_version.removeprefix("v")
    if version not in _VERSIONS:
        yield f'invalid version "{spec.cdi_version}"'
    elif _VERSIONS.index(version) < _VERSIONS.index(least := required_version(spec)):
        yield f"the spec version must be at least v{least}"


def required_version(spec: CdiSpec) -> str:
    """Find the oldest CDI version that has all that the specification uses."""
    devices = spec.devices or []
    edits = [spec.container_edits, *(device.container_edits for device in devices)]
    rdt = [each.intel_rdt for each in edits if each.intel_rdt is not None]
    if any(each.net_devices for each in edits) or any(r.schemata is not None or r.enable_monitoring for r in rdt):
        return "1.1.0"
    if rdt or any(each.additional_gids for each in edits):
        return "0.7.0"
    if spec.annotations or any(device.annotations for device in devices) or "." in spec.kind.partition("/")[2]:
        return "0.6.0"
    nodes = [node for each in edits for node in each.device_nodes or ()]
    if any(device.name[:1].isdecimal() for device in devices) or any(node.host_path for node in nodes):
        return "0.5.0"
    return "0.4.0" if any(mount.type for each in edits for mount in each.mounts or ()) else _EARLIEST


def _device_problems(device: CdiDevice) -> Iterator[str]:
    if not _DEVICE.fullmatch(device.name):
        yield f"invalid device name {device.name!r}"
    edits = device.container_edits
    if not any(getattr(edits, name) for name in edits.__struct_fields__):
        yield "invalid device, empty device edits"
    for problem in _edit_problems(edits):
        yield f'invalid device "{device.name}": {problem}'


def _edit_problems(edits: ContainerEdits) -> Iterator[str]:
    for problem in _variable_problems(edits.env or ()):
        yield f"invalid container edits: {problem}"
    yield from _node_problems(edits)
    yield from _hook_problems(edits)
    for mount in edits.mounts or ():
        if not mount.host_path:
            yield "invalid mount, empty host path"
        if not mount.container_path:
            yield "invalid mount, empty container path"
    yield from _rare_problems(edits)


def _node_problems(edits: ContainerEdits) -> Iterator[str]:
    for node in edits.device_nodes or ():
        if not node.path:
            yield "invalid (empty) device path"
        if node.type not in ("", "b", "c", "u", "p"):
            yield f'device "{node.path}": invalid type "{node.type}"'
        if node.permissions != "none" and node.permissions.strip("rwm"):
            yield f'device "{node.path}": invalid permissions "{node.permissions}"'


def _hook_problems(edits: ContainerEdits) -> Iterator[str]:
    for hook in edits.hooks or ():
        if hook.hook_name not in _HOOKS:
            yield f'invalid hook name "{hook.hook_name}"'
        if not hook.path:
            yield f'invalid hook "{hook.hook_name}" with empty path'
        for problem in _variable_problems(hook.env or ()):
            yield f'invalid hook "{hook.hook_name}": {problem}'


def _rare_problems(edits: ContainerEdits) -> Iterator[str]:
    if edits.intel_rdt is not None:
        name = edits.intel_rdt.clos_id
        if name != "/" and (len(name) >= 4096 or name in (".", "..") or "/" in name or "\n" in name):
            yield "invalid ClosID"
    devices = edits.net_devices or []
    for field in ("host_interface_name", "name"):
        values: list[Any] = [getattr(device, field) for device in devices]
        if "" in values:
            yield f"invalid linux net device, empty {field}"
        if len(set(values)) < len(values):
            yield f"invalid linux net device, duplicate {field}"


def _variable_problems(variables: Iterable[str]) -> Iterator[str]:
    for variable in variables:
        if variable.find("=") <= 0:
            yield f'invalid environment variable "{variable}"'
