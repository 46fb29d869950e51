"""Patches and pods that change at random, in an order that a failure repeats, and what must hold of the pods."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, request
from e2e.ledger import results
from e2e.patches.followed_devices import FollowedDevices
from e2e.patches.patching import Patching

_TIERS = ("gold", "silver")
_PODS = 4
# By so many changes a scheduler may be behind whoever else follows the same patches, or before.
_LAG = 30


class PatchChurn:
    """Each patch sets or removes the attribute ``tier`` of some devices; each pod wants a device of one tier."""

    def __init__(self, patching: Patching, followed: FollowedDevices, *, patches: int) -> None:
        self._patching, self._followed, self._patches = patching, followed, patches
        self._random = random.Random(5027)
        self._there: set[str] = set()
        # The tier that each pod wants, and after how many changes it came.
        self._pods: dict[str, tuple[str, int]] = {}
        self._numbers = itertools.count()

    def create_all(self) -> None:
        """Create all patches."""
        for number in range(self._patches):
            self._create(f"churn-{number:03}")

    def change(self) -> None:
        """Change a patch, and now and then a pod."""
        short = f"churn-{self._random.randrange(self._patches):03}"
        if short not in self._there:
            self._create(short)
        elif self._random.random() < 0.2:
            self._patching.remove(short)
            self._there.discard(short)
        else:
            self._patching.change(short, filter=self._filter(), **self._said())
        if self._random.random() < 0.1:
            self._change_pods()

    def _create(self, short: str) -> None:
        self._patching.patch(short, on=_without_none(self._filter()), **_without_none(self._said()))
        self._there.add(short)

    def _filter(self) -> Object:
        """Make a filter; None removes what another one has said before."""
        index = self._random.randrange(6)
        expression = f"device.attributes['{self._followed.driver}'].index >= {index}"
        selects: Object = self._random.choice(
            [{"device": f"gpu-{index}"}, {"selectors": [{"cel": {"expression": expression}}]}, {}]
        )
        return {"driver": self._followed.driver, "device": None, "selectors": None, **selects}

    def _said(self) -> Object:
        tier: Object = self._random.choice(
            [{"string": "gold", "null": None}, {"string": "silver", "null": None}, {"null": {}, "string": None}]
        )
        return {
            "priority": self._random.randrange(100),
            "attributes": {f"{self._followed.driver}/tier": tier},
        }

    def _change_pods(self) -> None:
        if len(self._pods) >= _PODS:
            name = self._random.choice(sorted(self._pods))
            del self._pods[name]
            self._patching.ends(name)
        tier, name = self._random.choice(_TIERS), f"pod-{next(self._numbers)}"
        self._pods[name] = tier, self._followed.changes
        expression = f"device.attributes['{self._followed.driver}'].?tier.orValue('') == '{tier}'"
        self._patching.ask(claim(name, request("gpu", self._followed.driver, expression)))

    def is_settled(self) -> bool:
        """Whether no pod waits that could have a free device, as patches are now."""
        held = dict(self._held())
        free = self._followed.history[-1].keys() - held.values()
        tiers = {self._followed.history[-1][device] for device in free}
        return not any(tier in tiers for name, (tier, _) in self._pods.items() if name not in held)

    def check_history(self) -> None:
        """Check that each pod that has a device got it while patches gave it the tier that the pod wants."""
        for name, device in self._held():
            tier, since = self._pods[name]
            seen = {state.get(device) for state in self._followed.history[max(0, since - _LAG) :]}
            assert tier in seen, f"{name} wants {tier} and has {device}, which was {seen}"

    def _held(self) -> Iterator[tuple[str, str]]:
        for seen in self._patching.api.objects(RESOURCE_CLAIMS):
            if seen["metadata"]["name"] in self._pods:
                yield from ((seen["metadata"]["name"], result["device"]) for result in results(seen))


def _without_none(fields: Object) -> Object:
    """Leave out what a merge patch would remove."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in fields.items()
        if value is not None
    }
