"""All statements of administrators, by the pools that they may concern, and the slices as they make them look.

Which devices a statement is about is found out when somebody looks at a slice; once for all slices that are alike in
what the filters of its pool read. What was found out about one statement holds until it changes itself, however many
others do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from drakit_allocator.devices.columns import OneOfEach, remember
from drakit_allocator.devices.devices import PoolID, PublishedSlice
from drakit_allocator.features import Features
from drakit_allocator.overlays.outcomes import Masks, Outcome, Question, outcome_of
from drakit_allocator.overlays.statements import Failed, Statement
from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.slice_patches.patch import DeviceFilter, PatchFault, SlicePatch

_numbers = itertools.count(1)
# Former statements of pools from which a step to those of now is known. Pools mostly come from the same ones; but one
# that a filter names now and then comes from others each time, while those of all other pools stay.
_REMEMBERED_STEPS = 64

# Told whom a statement that came, changed or went may concern.
Concerns = Callable[[DeviceFilter], None]


class Concerned:
    """The statements that may concern a pool, rules first, then patches in the order in which they win."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.statements = tuple(statements)
        self.number = next(_numbers)
        self._members = frozenset(self.statements)
        self._everything = Question.everything(self.statements)
        self._since: dict[int, tuple[_Step, Question]] = {}

    def judge(
        self,
        slices: Mapping[str, PublishedSlice],
        before: Mapping[str, Outcome],
        earlier: Concerned | None,
        found: dict[str, Outcome],
    ) -> None:
        """Add to ``found`` what the statements make of the slices of a pool that have devices, by name.

        ``before`` is what ``earlier`` statements made of some of them, for which only new statements are evaluated.
        Raises ``TurnOver``: then ``found`` has what is known by then, and the rest is to be judged in another turn.
        """
        step, question = (None, self._everything) if earlier is None else self._step(earlier)
        if step is not None and step.is_uniform:
            found.update(step.all_known(before))
        if len(found) == len(slices):
            return
        for name, one in slices.items():
            if name not in found:
                known = before.get(name)
                if known is None or step is None:
                    found[name] = self._first(one)
                else:
                    found[name] = self._next(one, known, step, question)

    def _step(self, earlier: Concerned) -> tuple[_Step, Question]:
        """Return the way from earlier statements, and what is to be found out again."""
        found = self._since.get(earlier.number)
        if found is None:
            new = tuple([one for one in self.statements if one not in earlier._members])
            gone = tuple([one for one in earlier.statements if one not in self._members])
            key = (tuple([one.number for one in new]), tuple([one.number for one in gone]))
            found = _STEPS.of(key, _Step, new, gone), self._everything.after((*new, *gone))
            remember(self._since, earlier.number, found, _REMEMBERED_STEPS)
        return found

    def _first(self, published: PublishedSlice) -> Outcome:
        masks = {one: mask for one in self.statements if (mask := one.selected(published))}
        return outcome_of(published, masks, self._everything)

    def _next(self, published: PublishedSlice, before: Outcome, step: _Step, question: Question) -> Outcome:
        """Do the step for one slice: ``before`` was its outcome."""
        selected = step.selected(published)
        key = before.number if step.is_uniform else (before.number, *selected)
        known = step.known.get(key)
        if known is None:
            known = outcome_of(published, step.after(before, selected), question, before)
            if set(known.touched).issubset(before.touched):
                step.known[key] = known
        return known


class _Step:
    """The way from statements of which outcomes are known to those of now.

    ``gone`` are those that are no longer among them, ``changed`` those that are about the devices of one that has gone,
    ``fresh`` the other new ones. ``is_uniform``: whether the fresh ones are about whole slices, whatever these are.
    ``known`` is what becomes of an outcome, given what the fresh ones select: the same for all slices of all pools that
    do this step, unless it depends on attributes on which the one before did not.
    """

    __slots__ = ("__weakref__", "_all_known", "changed", "fresh", "gone", "is_uniform", "known")

    def __init__(self, new: tuple[Statement, ...], gone: tuple[Statement, ...]) -> None:
        before = {one.criteria: one for one in gone}
        self.changed = tuple([(before[one.criteria], one) for one in new if one.criteria in before])
        self.fresh = tuple([one for one in new if one.criteria not in before])
        self.gone = gone
        self.is_uniform = all(one.is_uniform for one in self.fresh)
        self.known: dict[Hashable, Outcome] = {}
        self._all_known: dict[tuple[int, ...], tuple[Outcome, ...]] = {}  # for all slices of a pool at once

    def all_known(self, before: Mapping[str, Outcome]) -> Iterable[tuple[str, Outcome]]:
        """Return what becomes of the outcomes of a pool, if all of it is known, in a step that is uniform."""
        key = tuple([one.number for one in before.values()])
        found = self._all_known.get(key)
        if found is None:
            known = [self.known[one] for one in key if one in self.known]
            if len(known) < len(key):
                return ()
            found = self._all_known[key] = tuple(known)
        return zip(before, found, strict=True)

    def after(self, before: Outcome, selected: Iterable[int]) -> Masks:
        """Return the devices that each statement selects, given the earlier outcome and what the fresh ones select."""
        masks = dict(before.masks)
        masks.update((one, masks[earlier]) for earlier, one in self.changed if earlier in masks)
        for one in self.gone:
            masks.pop(one, None)
        masks.update((one, mask) for one, mask in zip(self.fresh, selected, strict=True) if mask)
        return masks

    def selected(self, published: PublishedSlice) -> list[int]:
        """Return the devices of a slice that each of the fresh statements selects."""
        return [one.selected(published) for one in self.fresh]


# By numbers of statements, new ones and those that have gone. Which of the others wins is the same in all pools.
_STEPS: OneOfEach[Hashable, _Step] = OneOfEach()


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
        self._concerned: dict[tuple[str, str | None], Concerned] = {}
        # All statements, those that win first, by the pools that their filters name.
        self._in_order: dict[str | None, list[tuple[int, Statement]]] | None = None

    @property
    def patches(self) -> list[SlicePatch]:
        """The patches that are in force."""
        return [one.patch for one in self._patches.values() if one.patch is not None]

    @property
    def faults(self) -> list[PatchFault]:
        """Why patches do not apply to devices, as far as they were evaluated; of each patch every cause once."""
        return [fault for one in self._patches.values() for fault in one.faults.values()]

    def adopt(self, other: Overlay) -> None:
        """Take over all statements of another overlay; this one has none yet."""
        self._rules |= other._rules
        self._patches |= other._patches
        self._named_pools |= other._named_pools

    def rule_with(self, taint: Mapping[str, Any]) -> str:
        """Name the DeviceTaintRule that has this very taint, not an equal one; empty if none has."""
        return next((name for name, rule in self._rules.items() if any(taint is one for one in rule.taints)), "")

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
            known.patch.obj = obj  # of its metadata, who owns which fields matters, and the generation
            return
        patch = SlicePatch.of(obj, lists=features.list_type_attributes, taints=features.device_taints)
        new = self._statement(patch)
        if known is not None:
            new.follow(known)
        self._replace(self._patches, name, new)

    def remove_patch(self, name: str) -> None:
        """Forget a ResourceSlicePatch."""
        self._replace(self._patches, name, None)

    def class_changed(self, name: str) -> None:
        """Look again at patches for the devices of a class."""
        for one in [*self._patches.values()]:
            if one.patch is not None and one.filter.device_class == name:
                new = self._statement(one.patch)
                if not new.has_criteria_of(one):
                    self._replace(self._patches, one.patch.name, new)

    def _statement(self, patch: SlicePatch) -> Statement:
        return Statement.of_patch(patch, self._classes, self._failed)

    def _replace(self, statements: dict[str, Statement], name: str, new: Statement | None) -> None:
        old = statements.get(name)
        self._in_order = None
        if new is not None:
            statements[name] = new
        elif old is not None:
            del statements[name]
        for one, change in ((new, 1), (old, -1)):
            if one is not None:
                self._count(one.filter.pool, change)
        for wanted in dict.fromkeys(one.filter for one in (old, new) if one is not None):
            self._forget(wanted)
            self._concerns(wanted)

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

    def concerning(self, pool_id: PoolID) -> Concerned | None:
        """Return the statements that may concern a pool, one object until they change; None if there are none."""
        driver, pool = pool_id
        key = (driver, pool if pool in self._named_pools else None)
        found = self._concerned.get(key)
        if found is None:
            by_pool = self._by_pool()
            of_pool = sorted([*by_pool.get(None, ()), *by_pool.get(pool, ())])
            found = Concerned([one for _, one in of_pool if one.filter.driver in (None, driver)])
            self._concerned[key] = found
        return found if found.statements else None

    def _by_pool(self) -> Mapping[str | None, Sequence[tuple[int, Statement]]]:
        """Return all statements, rules first, then patches in the order in which they win, each with its place."""
        if self._in_order is None:
            patches = [(one.patch.precedence, one) for one in self._patches.values() if one.patch is not None]
            ordered = [*self._rules.values(), *[one for _, one in sorted(patches, key=itemgetter(0))]]
            self._in_order = {}
            for place, one in enumerate(ordered):
                self._in_order.setdefault(one.filter.pool, []).append((place, one))
        return self._in_order


def _is_same(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    """Tell whether two versions of a patch say the same: an API server counts changes of the spec."""
    return bool(
        old["metadata"].get("uid") == new["metadata"].get("uid")
        and old["metadata"].get("creationTimestamp") == new["metadata"].get("creationTimestamp")
        and old["spec"] == new["spec"]
    )
