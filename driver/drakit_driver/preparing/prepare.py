"""Prepares and unprepares claims: the part of the plugin that has state.

Order of steps, so that a kill between any two of them is repaired by ``recover`` or by the kubelet's next call: record
as preparing, write CDI specs, record as prepared, answer; and backwards: remove the CDI spec, forget, answer. All
claims of one call share the two writes of the checkpoint. Calls are serialized, as kubeletplugin does by default; the
claims are read before, outside of the lock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from drakit_api.core.node_selectors import HOSTNAME_LABEL
from drakit_api.typed_objects import ResourceClaim, as_claim
from drakit_client.connection import Connection
from drakit_client.errors import NotFound, UnreadableError
from drakit_client.resources import NODES, RESOURCE_CLAIMS
from drakit_driver.api_versions import API_FAILURES, served_version
from drakit_driver.preparing.allocation import PrepareError, check_claim, check_node, is_unchanged, prepared_claim
from drakit_driver.preparing.cdi import CdiError, CdiSpecs
from drakit_driver.preparing.checkpoint import Checkpoint, PreparedClaim
from drakit_driver.preparing.claim_references import ClaimReference, contradictory
from drakit_driver.preparing.commitments import Inventory, over_commitment
from drakit_driver.reports import Problem, Report

log = logging.getLogger(__name__)

# The kubelet gives up after 45 s (defaultClientCallTimeout in pkg/kubelet/cm/dra/plugin/dra_plugin.go).
_READ_SECONDS = 20.0
# What is not in an allocation that should be; an API server that validates lets none of it through.
_MALFORMED = (KeyError, TypeError, AttributeError, ValueError, RecursionError)


class Preparer:
    """The claims of one driver on one node. Create it, ``recover``, then serve calls."""

    def __init__(
        self,
        connection: Connection,
        driver: str,
        node: str,
        inventory: Inventory,
        *,
        checkpoint: Checkpoint,
        specs: CdiSpecs,
        report: Report = log.info,
    ) -> None:
        self.driver = driver
        self.node = node
        self.inventory = inventory
        self._connection = connection
        self._checkpoint = checkpoint
        self._specs = specs
        self._claims_resource = RESOURCE_CLAIMS
        self._report = report
        self._claims: dict[str, PreparedClaim] = {}
        self._lock = asyncio.Lock()
        # For each call of ``prepare`` under way: the UIDs that were unprepared since it began.
        self._unprepared_since: dict[int, set[str]] = {}

    @property
    def claims(self) -> Mapping[str, PreparedClaim]:
        """What is prepared (or being prepared) now, by UID."""
        return self._claims

    async def recover(self) -> None:
        """Load the checkpoint and make CDI directory and memory agree with it; raises ``CheckpointError``."""
        async with self._lock:
            loaded = self._checkpoint.load()
            self._claims = {uid: claim for uid, claim in loaded.items() if claim.state == "prepared"}
            for uid in loaded.keys() - self._claims.keys():
                # The kubelet has no answer yet and will ask again.
                self._report(f"claim {_label(loaded[uid])}: unfinished preparation rolled back")
            if len(loaded) != len(self._claims):
                await self._save()
            for claim in self._claims.values():
                self._specs.write(claim)
            for name in self._specs.remove_orphans(self._claims):
                self._report(f"CDI spec {name}: belongs to no prepared claim, removed")

    async def forget_gone_claims(self) -> None:
        """Unprepare claims that the API server no longer has or that were deallocated; raises its errors."""
        gone = []
        for uid, claim in list(self._claims.items()):
            reference = ClaimReference(claim.namespace, claim.name, uid)
            try:
                check_claim(await self._read(reference), uid)
            except (NotFound, PrepareError):
                gone.append((reference, claim))
            except UnreadableError as error:
                # Its parameters may be nested deeper than can be read here.
                self._report(Problem(f"claim {reference} stays prepared: {error}"))
        async with self._lock:
            stale = [reference for reference, claim in gone if self._claims.get(reference.uid) is claim]
            if stale:
                await self._remove(stale, "is gone from the API server")

    async def prepare(self, references: Sequence[ClaimReference]) -> dict[str, PreparedClaim | PrepareError]:
        """Prepare claims; the result of each by UID. Claims that are prepared already are answered the same again."""
        with self._noticing_unprepared() as unprepared:
            return await self._prepare(list(dict.fromkeys(references)), unprepared)

    async def _prepare(
        self, references: Sequence[ClaimReference], unprepared: set[str]
    ) -> dict[str, PreparedClaim | PrepareError]:
        ambiguous = contradictory(references)
        reads = asyncio.gather(*(self._read_for(reference, ambiguous) for reference in references))
        labels, read = await asyncio.gather(self._node_labels(), reads)
        results: dict[str, PreparedClaim | PrepareError] = {}
        async with self._lock:
            fresh: list[PreparedClaim] = []
            for reference, claim in zip(references, read, strict=True):
                if reference.uid in unprepared:
                    claim = PrepareError(f"claim {reference} was unprepared while it was being prepared")
                results[reference.uid] = outcome = self._accept(reference, claim, labels)
                if isinstance(outcome, PreparedClaim) and outcome.state == "preparing":
                    self._claims[reference.uid] = outcome
                    fresh.append(outcome)
            if fresh:
                results |= await self._finish(fresh)
        for reference in references:
            if isinstance(error := results[reference.uid], PrepareError):
                self._report(Problem(f"claim {reference}: not prepared: {error}"))
        return results

    async def unprepare(self, references: Sequence[ClaimReference]) -> dict[str, PrepareError | None]:
        """Undo ``prepare``; a claim that is not prepared is a success, as the kubelet may ask several times.

        A kubelet hangs up while it prepares and then asks for this when a pod ends at once. A ``prepare`` that has not
        come to its claim yet therefore refuses it, lest the device stays prepared for a pod that is gone.
        """
        for unprepared in self._unprepared_since.values():
            unprepared.update(reference.uid for reference in references)
        async with self._lock:
            return await self._remove(references, "unprepared")

    @contextmanager
    def _noticing_unprepared(self) -> Iterator[set[str]]:
        unprepared: set[str] = set()
        self._unprepared_since[id(unprepared)] = unprepared
        try:
            yield unprepared
        finally:
            del self._unprepared_since[id(unprepared)]

    async def _read(self, reference: ClaimReference) -> ResourceClaim:
        async with asyncio.timeout(_READ_SECONDS):
            try:
                return as_claim(await self._connection.get(self._claims_resource, reference.name, reference.namespace))
            except NotFound:
                # The claim, or the whole version: the API server may be older than v1.
                version = await served_version(self._connection)
                if version == self._claims_resource.version:
                    raise
                self._claims_resource = RESOURCE_CLAIMS.in_version(version)
            return as_claim(await self._connection.get(self._claims_resource, reference.name, reference.namespace))

    async def _read_for(self, reference: ClaimReference, ambiguous: set[str]) -> ResourceClaim | PrepareError:
        if (problem := reference.problem()) is not None:
            return PrepareError(problem)
        if reference.uid in ambiguous:
            return PrepareError(f"claim UID {reference.uid} is that of several claims in this call")
        try:
            return await self._read(reference)
        except API_FAILURES as error:
            return PrepareError(f"retrieve claim {reference}: {error or type(error).__name__}")

    async def _node_labels(self) -> dict[str, str]:
        labels = {HOSTNAME_LABEL: self.node}
        try:
            async with asyncio.timeout(_READ_SECONDS):
                node = await self._connection.get(NODES, self.node)
        except API_FAILURES as error:
            log.debug("labels of node %s are unknown: %s", self.node, error)
            return labels
        return labels | (node["metadata"].get("labels") or {})

    def _accept(
        self, reference: ClaimReference, claim: ResourceClaim | PrepareError, labels: Mapping[str, str]
    ) -> PreparedClaim | PrepareError:
        """Return the claim as prepared before, or as to be prepared now (state ``preparing``), or why not."""
        if isinstance(claim, PrepareError):
            return claim
        try:
            allocation = check_claim(claim, reference.uid)
            before = self._claims.get(reference.uid)
            if before is not None and is_unchanged(before, allocation, self.driver):
                self._specs.write(before)
                return before
            check_node(allocation, self.node, labels)
            wanted = prepared_claim(
                claim, self.inventory, self._specs, driver=self.driver, node=self.node, labels=labels
            )
        except (PrepareError, CdiError) as error:
            return error if isinstance(error, PrepareError) else PrepareError(str(error))
        except OSError as error:
            return PrepareError(f"writing the CDI spec: {error}")
        except _MALFORMED as error:
            log.exception("claim %s: its allocation cannot be read", reference)
            return PrepareError(f"the allocation cannot be read: {type(error).__name__}: {error}")
        # A stale preparation of an allocation that was given back gives way to the new one.
        others = [other for uid, other in self._claims.items() if uid != reference.uid]
        problem = over_commitment(self.inventory, others, wanted.devices)
        return PrepareError(problem) if problem else wanted

    async def _finish(self, fresh: Sequence[PreparedClaim]) -> dict[str, PreparedClaim | PrepareError]:
        results: dict[str, PreparedClaim | PrepareError] = {}
        try:
            await self._save()
            for claim in fresh:
                results[claim.uid] = self._write_spec(claim)
            await self._save()
        except OSError as error:
            for claim in fresh:
                self._claims.pop(claim.uid, None)
                results[claim.uid] = PrepareError(f"writing checkpoint: {error}")
            return results
        for claim in fresh:
            if isinstance(results[claim.uid], PreparedClaim):
                devices = ", ".join(f"{device.pool}/{device.device}" for device in claim.devices)
                self._report(f"claim {_label(claim)}: prepared {devices}")
        return results

    def _write_spec(self, claim: PreparedClaim) -> PreparedClaim | PrepareError:
        try:
            self._specs.write(claim)
        except OSError as error:
            self._claims.pop(claim.uid, None)
            return PrepareError(f"writing the CDI spec: {error}")
        done = self._claims[claim.uid] = msgspec.structs.replace(claim, state="prepared")
        return done

    async def _remove(self, references: Iterable[ClaimReference], why: str) -> dict[str, PrepareError | None]:
        results: dict[str, PrepareError | None] = {}
        removed: dict[str, PreparedClaim] = {}
        for reference in references:
            results[reference.uid] = None
            try:
                self._specs.remove(reference.uid)
            except CdiError:
                # Such a claim was never prepared, so there is nothing to undo.
                continue
            except OSError as error:
                results[reference.uid] = PrepareError(f"removing the CDI spec: {error}")
                continue
            if (claim := self._claims.pop(reference.uid, None)) is not None:
                removed[reference.uid] = claim
        if removed:
            try:
                await self._save()
            except OSError as error:
                self._claims |= removed
                return results | dict.fromkeys(removed, PrepareError(f"writing checkpoint: {error}"))
        for claim in removed.values():
            self._report(f"claim {_label(claim)}: {why}")
        return results

    async def _save(self) -> None:
        # In a thread, since a sync of a busy disk takes long and the same loop may serve a whole test cluster.
        await asyncio.to_thread(self._checkpoint.save, dict(self._claims))


def _label(claim: PreparedClaim) -> str:
    return f"{claim.namespace}/{claim.name} ({claim.uid})"
