"""Which webhooks and policies see a write once more, because others have changed the object after them.

After k8s.io/apiserver/pkg/admission/reinvocation.go and reinvocationcontext.go of plugin/webhook/mutating and
plugin/policy/mutating.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Generic, TypeVar

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes

K = TypeVar("K", bound=Hashable)


class Reinvocations(Generic[K]):
    """What one plugin remembers of a write from the first to the second run of the mutating chain."""

    def __init__(self) -> None:
        self._called: set[K] = set()
        self._again: set[K] = set()
        self._left: Object | None = None

    @classmethod
    def of(cls, attributes: Attributes, plugin: str) -> Reinvocations[K]:
        """Find those of a plugin for a write."""
        found = attributes.contexts.setdefault(plugin, cls())
        assert isinstance(found, cls)
        return found

    def begin(self, attributes: Attributes) -> None:
        """Begin a run: what others have changed since the run before is to be seen."""
        if attributes.round and self._left != attributes.object:
            self.changed()

    def end(self, attributes: Attributes) -> None:
        """End a run, remembering how it left the object."""
        self._left = copy.deepcopy(attributes.object)

    def is_due(self, key: K, attributes: Attributes) -> bool:
        """Check whether something is to be called; in the second run, nothing is called for the first time."""
        return not attributes.round or key in self._again

    def called(self, key: K) -> None:
        """Note a call of something that wants to see later changes."""
        self._called.add(key)

    def changed(self) -> None:
        """Note a change of the object."""
        self._again |= self._called
        self._called.clear()
