"""CDI specs: how the container runtime learns what to change in a container that gets a device.

One file per claim, as the NVIDIA driver does (kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/cdi.go):
kind ``k8s.<driver>/claim``, device names ``<claim uid>-<device>``. Names are never reused, because runtimes cache
specs and reload only for names that they do not know (DRAPlugin in k8s.io/dynamic-resource-allocation/kubeletplugin).
Only environment variables are injected: a device node or mount that does not exist on the host would make a real
container runtime fail, and the mock has no hardware to point at.

Format: SPEC.md of tags.cncf.io/container-device-interface; names: its pkg/parser/parser.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from drakit_client.files import regular_files
from drakit_driver.preparing.checkpoint import PreparedClaim
from drakit_driver.preparing.claim_references import UID_RULE, is_uid, shown

# The oldest version whose device names may start with a digit, as claim UIDs do.
CDI_VERSION = "0.5.0"
CLASS = "claim"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_VENDOR = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


class CdiError(ValueError):
    """A name that cannot be part of a CDI spec or of its file's name."""


class CdiSpecs:
    """The specs of one driver in one CDI directory, which other drivers may use too."""

    def __init__(self, directory: Path, driver: str) -> None:
        self.directory = directory
        self.vendor = f"k8s.{driver}"
        if not _VENDOR.fullmatch(self.vendor):
            raise CdiError(f"driver name {driver!r} cannot be part of a CDI vendor name")

    def device_id(self, uid: str, device: str) -> str:
        """Return the qualified name ``vendor/class=name`` that goes to the kubelet."""
        return f"{self.vendor}/{CLASS}={device_name(uid, device)}"

    def path(self, uid: str) -> Path:
        """Return the file of a claim. Raises ``CdiError`` for a UID that is not safe in a file name."""
        return self.directory / f"{self._prefix}{valid_uid(uid)}.json"

    def write(self, claim: PreparedClaim) -> None:
        """Create or replace the spec of a claim; readers see the old or the new file, never a part."""
        content = self._content(claim)
        path = self.path(claim.uid)
        if _read(path) == content:
            return
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        temporary = self.directory / f".{path.name}.tmp"
        temporary.unlink(missing_ok=True)
        # Not synced: after a power failure the next start writes it again from the checkpoint.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.rename(path)

    def remove(self, uid: str) -> bool:
        """Remove the spec of a claim; whether there was one."""
        try:
            self.path(uid).unlink()
        except FileNotFoundError:
            return False
        return True

    def remove_orphans(self, known: Iterable[str]) -> list[str]:
        """Remove this driver's specs of claims not ``known``, and all unfinished files; return the names removed."""
        keep = {self.path(uid).name for uid in known}
        removed = []
        for path in [*self.directory.glob(f"{self._prefix}*.json"), *self.directory.glob(f".{self._prefix}*.tmp")]:
            if path.name not in keep:
                path.unlink(missing_ok=True)
                removed.append(path.name)
        return sorted(removed)

    @property
    def _prefix(self) -> str:
        return f"{self.vendor}-{CLASS}_"

    def _content(self, claim: PreparedClaim) -> bytes:
        devices = {device.cdi_id.partition("=")[2]: {"env": _variables(device.environment)} for device in claim.devices}
        spec: dict[str, object] = {
            "cdiVersion": CDI_VERSION,
            "kind": f"{self.vendor}/{CLASS}",
            "devices": [{"name": name, "containerEdits": edits} for name, edits in devices.items()],
        }
        if claim.environment:
            spec["containerEdits"] = {"env": _variables(claim.environment)}
        return msgspec.json.format(msgspec.json.encode(spec), indent=2) + b"\n"


def valid_uid(uid: str) -> str:
    """Return the UID if it can be part of a file name. Raises ``CdiError``."""
    if not is_uid(uid):
        raise CdiError(f"claim UID {shown(uid)} {UID_RULE}")
    return uid


def device_name(uid: str, device: str) -> str:
    """Return the name of a claim's device in CDI. Raises ``CdiError``."""
    name = f"{valid_uid(uid)}-{device}"
    if not _NAME.fullmatch(name):
        raise CdiError(f"{name!r} is not a CDI device name")
    return name


def _variables(environment: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


def _read(path: Path) -> bytes | None:
    try:
        return regular_files.read(path)
    except OSError:
        return None
