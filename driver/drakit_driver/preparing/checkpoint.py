"""What the plugin has prepared, on disk, so that it survives the driver being killed at any moment.

The kubelet calls unprepare long after the claim is gone from the API server and expects the driver to remember. The
file is written ahead: a claim is recorded as ``preparing`` before anything of it exists, and as ``prepared`` before the
kubelet hears of it, so a restart knows what to finish and what to roll back. It is replaced atomically and synced, is
readable (JSON), and carries a version and a checksum: a driver that was downgraded refuses it rather than forgetting
claims of running pods.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from drakit_api.quantity import Quantity, QuantityError
from drakit_client.files import regular_files
from drakit_driver.preparing.claim_references import UID_RULE, is_uid, shown

VERSION = 1
FILE_NAME = "checkpoint.json"
# A claim of 32 devices takes about 20 KB.
_LARGEST_BYTES = 64 * regular_files.MEBIBYTE
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class CheckpointError(Exception):
    """The file cannot be used; the message names it and the way out."""


class PreparedDevice(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, frozen=True):
    """One result of an allocation, and what it takes from the pool.

    ``consumes`` is ``{counter set: {counter: quantity}}``; ``environment`` is what the container gets.
    """

    request: str
    pool: str
    device: str
    cdi_id: str
    share_id: str | None = None
    admin_access: bool = False
    shareable: bool = False
    consumes: dict[str, dict[str, str]] = {}
    consumed_capacity: dict[str, str] = {}
    environment: dict[str, str] = {}


class PreparedClaim(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True, frozen=True):
    """One claim on this node. ``environment`` is for every container that gets any of its devices.

    ``allocation`` is a digest of what was allocated (``allocation.digest``); files of older drivers do not have it.
    """

    uid: str
    namespace: str
    name: str
    state: Literal["preparing", "prepared"]
    devices: list[PreparedDevice]
    environment: dict[str, str] = {}
    allocation: str = ""


class _File(msgspec.Struct):
    version: int
    checksum: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _Data(msgspec.Struct):
    claims: dict[str, PreparedClaim] = {}


class Checkpoint:
    """The file of one plugin instance, in its private data directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME

    def load(self) -> dict[str, PreparedClaim]:
        """Load the claims by UID; none if there is no file yet. Raises ``CheckpointError``."""
        self._temporary.unlink(missing_ok=True)
        try:
            raw = regular_files.read(self.path, limit=_LARGEST_BYTES)
        except FileNotFoundError:
            return {}
        except regular_files.UnusableFileError as error:
            raise self._error(f"cannot be used ({error})") from error
        try:
            file = msgspec.json.decode(raw, type=_File)
        except _UNREADABLE as error:
            raise self._error(f"is damaged ({error})") from error
        if file.version > VERSION:
            raise CheckpointError(
                f"checkpoint {self.path} has version {file.version}, this driver knows up to {VERSION}: "
                "it was written by a newer driver; run that one, or drain the node and remove the file"
            )
        if file.checksum != _checksum(bytes(file.data)):
            raise self._error("is damaged (wrong checksum)")
        try:
            claims = msgspec.json.decode(file.data, type=_Data).claims
        except _UNREADABLE as error:
            raise self._error(f"is damaged ({error})") from error
        if (problem := next(_problems(claims), None)) is not None:
            raise self._error(f"is damaged ({problem})")
        return claims

    def save(self, claims: dict[str, PreparedClaim]) -> None:
        """Replace the file; when this returns, a power failure does not lose it. Blocks for the disk."""
        data = msgspec.json.encode(_Data(claims), order="sorted")
        document: dict[str, Any] = {"version": VERSION, "checksum": _checksum(data), "data": msgspec.Raw(data)}
        self._temporary.unlink(missing_ok=True)
        descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(document))
            file.flush()
            os.fsync(file.fileno())
        self._temporary.rename(self.path)
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    @property
    def _temporary(self) -> Path:
        return self.path.with_suffix(".tmp")

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {self.path} {what}; drain the node and remove the file: "
            "claims of pods that still run are then prepared anew"
        )


def _problems(claims: dict[str, PreparedClaim]) -> Iterator[str]:
    """Yield what no driver can have written: unsafe names for parts of paths, and malformed amounts."""
    for uid, claim in claims.items():
        if not is_uid(uid):
            yield f"claim UID {shown(uid)} {UID_RULE}"
        if claim.uid != uid:
            yield f"claim {uid} says that its UID is {shown(claim.uid)}"
        for device in claim.devices:
            if not device.cdi_id.partition("=")[2].startswith(uid):
                yield f"claim {uid}: {shown(device.cdi_id)} is not a CDI device of it"
            counters = (amount for each in device.consumes.values() for amount in each.values())
            yield from (
                f"claim {uid}: {shown(amount)} is not an amount"
                for amount in (*counters, *device.consumed_capacity.values())
                if not _is_amount(amount)
            )


def _is_amount(text: str) -> bool:
    try:
        return Quantity.parse(text).nanos >= 0
    except QuantityError:
        return False


def _checksum(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
