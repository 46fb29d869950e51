"""What validating and mutating policies have in common: whom they are for, and what their expressions may use."""

from __future__ import annotations

from functools import cached_property

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.matching import criteria
from drakit_embedded.apiserver.admission.matching.conditions import Conditions
from drakit_embedded.apiserver.admission.policies.programs import Programs, names_in


class Policy:
    """A policy; its expressions are compiled when the first write comes that it is for."""

    def __init__(self, obj: Object) -> None:
        """Read a policy."""
        spec = obj["spec"]
        self.name: str = obj["metadata"]["name"]
        self.criteria = criteria.of_resources(spec["matchConstraints"])
        self.param_kind: Object | None = spec.get("paramKind")
        self.ignores_failures = spec.get("failurePolicy") == "Ignore"
        self.conditions = Conditions(
            spec.get("matchConditions") or (), ignores_failures=self.ignores_failures, params="paramKind" in spec
        )
        self._spec, self.names = spec, names_in(spec)

    @cached_property
    def programs(self) -> Programs:
        """The variables, and what compiles expressions that use them."""
        return Programs(self._spec)
