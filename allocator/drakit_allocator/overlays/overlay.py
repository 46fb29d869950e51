"""All statements of administrators, by the pools that they may concern, and the slices as they make them look.

Which devices a statement is about is found out when somebody looks at a slice; once for all slices that are alike in
what the filters of its pool read. What was found out about one statement holds until it changes itself, however many
others do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from drakit_allocator.devices.columns import OneOfEach
from drakit_allocator.devices.devices import Changed, PoolID, PublishedSlice
from drakit_allocator.devices.remembered_values import selector
from drakit_allocator.devices.selections import Schema, schema_of
from drakit_allocator.features import Features
from drakit_allocator.overlays.changes import Masks, change_of
from drakit_allocator.overlays.statements import Failed, Statement
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.objects.device_attributes import published_names
from drakit_api.slice_patches.patch import DeviceFilter, PatchFault, SlicePatch

# Told whom a statement that came, changed or went may concern.
Concerns = Callable[[DeviceFilter], None]


class _Outcome:
    """Which devices of a slice each statement selects, and what becomes of the slice."""

    __slots__ = ("__weakref__", "change", "masks")

    def __init__(self, published: PublishedSlice, masks: Masks) -> None:
        self.masks = dict(masks)
        self.change: Changed | None = change_of(published, masks)


class Seen(NamedTuple):
    """A slice as the allocator sees it, and why."""

    slice: PublishedSlice
    concerned: _Concerned
    outcome: _Outcome | None


class _Concerned:
    """The statements that may concern a pool, rules first, then patches in the order in which they win."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.statements = tuple(statements)
        self._columns: dict[Schema, tuple[str, ...]] = {}
        # By what the statements read: numbers of columns, which are never used twice.
        self._outcomes: OneOfEach[Hashable, _Outcome] = OneOfEach()

    def outcome(self, published: PublishedSlice, before: _Outcome | None) -> _Outcome:
        """Evaluate the statements on a slice, but for those of which it is known from ``before``."""
        schema = schema_of((published,))
        columns = self._columns.get(schema)
        if columns is None:
            columns = self._columns[schema] = self._read(published)
        numbers = [published.attributes[name].number for name in columns]
        key = (schema, published.names.number, published.traits.number, *numbers)
        found = self._outcomes.get(key)
        if found is None:
            known = {} if before is None else before.masks
            masks = tuple([(one, _mask(one, known, published)) for one in self.statements])
            found = self._outcomes[key] = _Outcome(published, masks)
        return found

    def _read(self, published: PublishedSlice) -> tuple[str, ...]:
        """Name the attributes that decide about statements, or are changed by them, as far as they are published."""
        driver, spoiled = published.pool[0], published.all_spoiled
        read: dict[str, None] = {}
        for one in self.statements:
            for expression in one.expressions:
                read |= dict.fromkeys(selector(driver, expression, published.attribute_names, spoiled).names)
            for name in one.attributes:
                read |= dict.fromkeys(published_names(name, driver))
        return tuple([name for name in published.attribute_names if name in read])


def _mask(one: Statement, known: Mapping[Statement, int], published: PublishedSlice) -> int:
    mask = known.get(one)
    return one.selected(published) if mask is None else mask


class Overlay:
    """``concerns`` is called with the filter of each statement that came, changed or went; ``failed`` with faults."""

    def __init__(
        self,
        features: Features,
        classes: Mapping[str, ReadOnlyObject],
        concerns: Concerns,
        failed: Failed | None = None,
    ) -> None:
        self._features = features
        self._classes = classes
        self._concerns = concerns
        self._failed = failed
        self._rules: dict[str, Statement] = {}
        self._patches: dict[str, Statement] = {}
        # The pools that filters name have statements of their own, all others of a driver have the same ones.
        self._named_pools: dict[str, int] = {}
        self._concerned: dict[tuple[str, str | None], _Concerned] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nobody says anything."""
        return not self._rules and not self._patches

    @property
    def patches(self) -> list[SlicePatch]:
        """The patches that are in force."""
        return [one.patch for one in self._patches.values() if one.patch is not None]

    @property
    def faults(self) -> list[PatchFault]:
        """Why patches do not apply to devices, as far as they were evaluated; of each patch every cause once."""
        return [fault for one in self._patches.values() for fault in one.faults.values()]

    def put_rule(self, rule: ReadOnlyObject) -> None:
        """Add or replace a DeviceTaintRule."""
        if self._features.device_taints:
            self._replace(self._rules, rule["metadata"]["name"], Statement.of_rule(rule))

    def remove_rule(self, name: str) -> None:
        """Forget a DeviceTaintRule."""
        self._replace(self._rules, name, None)

    def put_patch(self, obj: ReadOnlyObject) -> None:
        """Add or replace a ResourceSlicePatch; one of which only metadata has changed stays the same statement."""
        features, name = self._features, obj["metadata"]["name"]
        known = self._patches.get(name)
        if known is not None and known.patch is not None and _is_same(known.patch.obj, obj):
            return
        patch = SlicePatch.of(obj, lists=features.list_type_attributes, taints=features.device_taints)
        self._replace(self._patches, name, self._statement(patch))

    def remove_patch(self, name: str) -> None:
        """Forget a ResourceSlicePatch."""
        self._replace(self._patches, name, None)

    def class_changed(self, name: str) -> None:
        """Look again at patches for the devices of a class."""
        for one in [*self._patches.values()]:
            if one.patch is not None and one.filter.device_class == name:
                self._replace(self._patches, one.patch.name, self._statement(one.patch))

    def _statement(self, patch: SlicePatch) -> Statement:
        return Statement.of_patch(patch, self._classes, self._failed)

    def _replace(self, statements: dict[str, Statement], name: str, new: Statement | None) -> None:
        old = statements.get(name)
        if new is not None:
            statements[name] = new
        elif old is not None:
            del statements[name]
        for one, change in ((new, 1), (old, -1)):
            if one is not None:
                self._count(one.filter.pool, change)
        for one in (old, new):
            if one is not None:
                self._forget(one.filter)
                self._concerns(one.filter)

    def _count(self, pool: str | None, change: int) -> None:
        if pool is None:
            return
        count = self._named_pools.get(pool, 0) + change
        if count:
            self._named_pools[pool] = count
        else:
            del self._named_pools[pool]

    def _forget(self, wanted: DeviceFilter) -> None:
        for driver, pool in [*self._concerned]:
            is_meant = wanted.pool is None if pool is None else wanted.pool in (None, pool)
            if is_meant and wanted.driver in (None, driver):
                del self._concerned[driver, pool]

    def seen(self, published: PublishedSlice, known: Seen | None) -> Seen:
        """Return a slice as statements make it look; ``known`` is what that was before, if the slice is the same."""
        concerned = self._of_pool(published.pool)
        if known is not None and known.concerned is concerned:
            return known
        if not concerned.statements:
            return Seen(published, concerned, None)
        outcome = concerned.outcome(published, None if known is None else known.outcome)
        if known is not None and known.outcome is not None and known.outcome.change is outcome.change:
            return Seen(known.slice, concerned, outcome)
        change = outcome.change
        return Seen(published if change is None else published.changed(change), concerned, outcome)

    def _of_pool(self, pool_id: PoolID) -> _Concerned:
        driver, pool = pool_id
        key = (driver, pool if pool in self._named_pools else None)
        found = self._concerned.get(key)
        if found is None:
            rules = [one for one in self._rules.values() if one.filter.may_concern(driver, pool)]
            patches = [one for one in self._patches.values() if one.filter.may_concern(driver, pool)]
            patches.sort(key=lambda one: () if one.patch is None else one.patch.precedence)
            found = self._concerned[key] = _Concerned([*rules, *patches])
        return found


def _is_same(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Tell whether two versions of a patch say the same: an API server counts changes of the spec."""
    return bool(
        old["metadata"].get("uid") == new["metadata"].get("uid")
        and old["metadata"].get("creationTimestamp") == new["metadata"].get("creationTimestamp")
        and old["spec"] == new["spec"]
    )
