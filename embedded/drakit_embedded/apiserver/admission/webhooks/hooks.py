"""Webhooks as they are configured (k8s.io/apiserver/pkg/admission/plugin/webhook/accessors.go)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver.admission.matching import criteria
from drakit_embedded.apiserver.admission.matching.criteria import Criteria
from drakit_embedded.apiserver.outgoing import targets
from drakit_embedded.apiserver.outgoing.targets import Target

if TYPE_CHECKING:
    from drakit_embedded.apiserver.admission.matching.conditions import Conditions

_SECONDS = 10
_WITHOUT_SIDE_EFFECTS = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One webhook of a configuration. Two of them are never equal: a changed one has to be asked anew."""

    name: str
    criteria: Criteria
    # None if it has no match conditions, as most.
    conditions: Conditions | None
    target: Target
    # What a failed call means: refuse the write, or go on without.
    ignores_failures: bool
    # None for a hook that does not say, which is not called in a dry run.
    side_effects: str | None
    # Versions of AdmissionReview that it understands, the one that it likes best first.
    versions: tuple[str, ...]
    seconds: int
    # Whether it is called once more if others have changed the object after it.
    reinvoked: bool

    @property
    def may_run_dry(self) -> bool:
        """Whether it may be called in a dry run."""
        return self.side_effects in _WITHOUT_SIDE_EFFECTS


def compiled(configuration: Object) -> list[Hook]:
    """Compile the webhooks of a configuration, in their order."""
    return list(_compiled(configuration.get("webhooks") or ()))


def _compiled(sources: list[ReadOnlyObject] | tuple[()]) -> Iterator[Hook]:
    for source in sources:
        ignores_failures = source.get("failurePolicy") == "Ignore"
        yield Hook(
            name=source["name"],
            criteria=criteria.of_webhook(source),
            conditions=_conditions(source, ignores_failures=ignores_failures),
            target=targets.of(source.get("clientConfig") or {}),
            ignores_failures=ignores_failures,
            side_effects=source.get("sideEffects"),
            versions=tuple(source.get("admissionReviewVersions") or ()),
            seconds=source.get("timeoutSeconds") or _SECONDS,
            reinvoked=source.get("reinvocationPolicy") == "IfNeeded",
        )


def _conditions(source: ReadOnlyObject, *, ignores_failures: bool) -> Conditions | None:
    if not source.get("matchConditions"):
        return None
    # Imported here, as it takes some time to load what reads expressions.
    from drakit_embedded.apiserver.admission.matching.conditions import Conditions

    return Conditions(source["matchConditions"], ignores_failures=ignores_failures)
