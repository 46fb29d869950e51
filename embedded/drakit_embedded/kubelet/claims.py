"""What the kubelet remembers of claims: which pods use them, which devices the drivers gave for them.

It is kept in ``dra_manager_state``, the kubelet's own checkpoint file and format (k8s.io/kubernetes
pkg/kubelet/cm/dra/state), so that a restarted kubelet knows what is prepared. Rules: cm/dra/claiminfo.go.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim
from drakit_client.files import private_files, regular_files
from drakit_client.reflector import Key

_API_VERSION = "checkpoint.dra.kubelet.k8s.io/v1"
_KIND = "DRACheckpoint"
SKIP_ALL = "*"
_LARGEST_BYTES = 64 * regular_files.MEBIBYTE


class CheckpointError(Exception):
    """The checkpoint cannot be read; starting anyway would forget what is prepared."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device as the driver described it in its answer to NodePrepareResources."""

    pool: str
    name: str
    requests: tuple[str, ...]
    cdi_ids: tuple[str, ...]
    share_id: str | None = None


@dataclass(slots=True)
class DriverState:
    """One driver's part of a claim; ``skips`` are the node operations that the claim does not need from it."""

    devices: list[Device] = field(default_factory=list)
    skips: frozenset[str] = frozenset()

    def does_skip(self, operation: str) -> bool:
        """Check whether ``NodePrepareResources`` or ``NodeUnprepareResources`` is not called for this driver."""
        return SKIP_ALL in self.skips or operation in self.skips


@dataclass(slots=True)
class ClaimInfo:
    """One claim that pods of this node use or are about to use."""

    uid: str
    name: str
    namespace: str
    drivers: dict[str, DriverState]
    pods: set[str] = field(default_factory=set)
    # Neither is checkpointed: a restarted kubelet asks the driver again before it starts another pod with the claim.
    prepared: bool = False
    unpreparing: bool = False

    @property
    def key(self) -> Key:
        """``(namespace, name)``."""
        return self.namespace, self.name

    @classmethod
    def from_claim(cls, claim: ResourceClaim, *, may_skip: bool = True) -> ClaimInfo:
        """Build the info of an allocated claim.

        Raises:
            ValueError: if it is not allocated, or skips node operations although ``may_skip`` is false.
        """
        allocation = claim.get("status", {}).get("allocation")
        if not allocation:
            raise ValueError("not allocated")
        metadata = claim["metadata"]
        results = allocation.get("devices", {}).get("results") or ()
        states = _driver_states(results)
        if not may_skip and any(state.skips for state in states.values()):
            raise ValueError("DRAOptionalNodeOperations feature gate is disabled on kubelet")
        return cls(metadata["uid"], metadata["name"], metadata["namespace"], states)

    def cdi_ids(self, request: str) -> list[str]:
        """List the CDI devices for one request of the claim, or for all of them if ``request`` is empty."""
        return [
            cdi_id
            for state in self.drivers.values()
            for device in state.devices
            if not request or not device.requests or request in device.requests
            for cdi_id in device.cdi_ids
        ]


class ClaimCache:
    """All claims of one node by namespace and name, mirrored in the checkpoint file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claims: dict[Key, ClaimInfo] = _load(path)

    def get(self, namespace: str, name: str) -> ClaimInfo | None:
        """Look up a claim; None if no pod of this node uses it."""
        return self._claims.get((namespace, name))

    def all(self) -> list[ClaimInfo]:
        """List every claim."""
        return list(self._claims.values())

    def add(self, info: ClaimInfo) -> None:
        """Remember a claim; ``save`` makes it last."""
        self._claims[info.key] = info

    def remove(self, info: ClaimInfo) -> None:
        """Forget a claim; ``save`` makes it last."""
        if self._claims.get(info.key) is info:
            del self._claims[info.key]

    def of_pod(self, pod_uid: str) -> list[ClaimInfo]:
        """List the claims that a pod has a reference to."""
        return [info for info in self._claims.values() if pod_uid in info.pods]

    def save(self) -> None:
        """Write the checkpoint in one step. Not synced to disk: it must survive this process, not the machine."""
        data = {"kind": _KIND, "apiVersion": _API_VERSION, "ClaimInfoStateList": [_dump(i) for i in self.all()]}
        text = msgspec.json.encode(data).decode()
        blob = msgspec.json.encode({"Data": text, "Checksum": zlib.crc32(text.encode())})
        private_files.write(self._path, blob)


def _driver_states(results: Any) -> dict[str, DriverState]:
    """Compute for each driver the operations to skip: those that all of its devices in the claim skip (KEP-5945)."""
    totals = Counter(result["driver"] for result in results)
    skipped: dict[str, Counter[str]] = {driver: Counter() for driver in totals}
    for result in results:
        operations = result.get("skipNodeOperations") or ()
        skipped[result["driver"]].update([SKIP_ALL] if SKIP_ALL in operations else operations)
    states = {}
    for driver, total in totals.items():
        everything = skipped[driver][SKIP_ALL]
        if everything == total:
            skips = frozenset({SKIP_ALL})
        else:
            skips = frozenset(
                operation
                for operation, count in skipped[driver].items()
                if operation != SKIP_ALL and count + everything == total
            )
        states[driver] = DriverState(skips=skips)
    return states


def _dump(info: ClaimInfo) -> Object:
    return {
        "ClaimUID": info.uid,
        "ClaimName": info.name,
        "Namespace": info.namespace,
        "PodUIDs": {uid: {} for uid in sorted(info.pods)},
        "DriverState": {driver: _dump_driver(state) for driver, state in info.drivers.items()},
    }


def _dump_driver(state: DriverState) -> Object:
    dumped: Object = {
        "Devices": [
            {
                "PoolName": device.pool,
                "DeviceName": device.name,
                "ShareID": device.share_id,
                "RequestNames": list(device.requests),
                "CDIDeviceIDs": list(device.cdi_ids),
            }
            for device in state.devices
        ]
    }
    if state.skips:
        dumped["skipNodeOperations"] = sorted(state.skips)
    return dumped


def _load(path: Path) -> dict[Key, ClaimInfo]:
    try:
        blob = msgspec.json.decode(regular_files.read(path, limit=_LARGEST_BYTES))
        text = blob["Data"]
        if zlib.crc32(text.encode()) != blob["Checksum"]:
            raise CheckpointError(f"{path}: checkpoint is corrupted; drain the node and remove the file")
        entries = msgspec.json.decode(text)["ClaimInfoStateList"] or []
        infos = [_parse(entry) for entry in entries]
    except FileNotFoundError:
        return {}
    except regular_files.UnusableFileError as error:
        raise CheckpointError(f"{error}; drain the node and remove it") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: not a checkpoint ({error}); drain the node and remove the file") from error
    return {info.key: info for info in infos}


def _parse(entry: Object) -> ClaimInfo:
    drivers = {
        driver: DriverState(
            [
                Device(
                    device["PoolName"],
                    device["DeviceName"],
                    tuple(device["RequestNames"] or ()),
                    tuple(device["CDIDeviceIDs"] or ()),
                    device.get("ShareID"),
                )
                for device in state["Devices"] or ()
            ],
            frozenset(state.get("skipNodeOperations") or ()),
        )
        for driver, state in (entry["DriverState"] or {}).items()
    }
    return ClaimInfo(entry["ClaimUID"], entry["ClaimName"], entry["Namespace"], drivers, set(entry["PodUIDs"] or ()))
