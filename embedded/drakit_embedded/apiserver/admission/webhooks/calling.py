"""One call of a webhook: what is asked, what its answer means, and what it means if there is none.

``callHook`` and ``callAttrMutatingHook`` of k8s.io/apiserver/pkg/admission/plugin/webhook/{validating,mutating}/
dispatcher.go, and plugin/webhook/errors/statuserror.go.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, NamedTuple

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.webhooks import answer_types, answers, reviews
from drakit_embedded.apiserver.admission.webhooks.answers import Answer, CallError
from drakit_embedded.apiserver.admission.webhooks.hooks import Hook
from drakit_embedded.apiserver.admission.webhooks.reviews import View, Views
from drakit_embedded.apiserver.outgoing import clients
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.reruns.memory import Question
from drakit_embedded.apiserver.statuses import StatusError

if TYPE_CHECKING:
    from drakit_embedded.apiserver.admission.matching.conditions import Conditions

_LEAST_CODE, _MOST_CODE = 400, 999
_UNKNOWN_VERSIONS = "could not create admission objects: webhook does not accept known AdmissionReview versions"


class Replied(NamedTuple):
    """The reply to a call, and the UID that it had."""

    uid: str
    reply: Reply


def view(hook: Hook, views: Views, attributes: Attributes, cluster: GuardedCluster) -> View | None:
    """Find what a webhook is to see of a write; None if the write does not concern it (``ShouldCallHook``).

    Raises:
        StatusError: 404 if the namespace does not exist, 403 if a match condition cannot be evaluated.
    """
    kind = hook.criteria.match(attributes, cluster)
    if kind is None:
        return None
    seen = views.of(kind)
    return seen if hook.conditions is None or _hold(hook.conditions, seen, attributes, cluster) else None


def _hold(conditions: Conditions, seen: View, attributes: Attributes, cluster: GuardedCluster) -> bool:
    """Evaluate the match conditions of a webhook."""
    # Imported here, as only expressions need it, which most webhooks have none of.
    from drakit_embedded.apiserver.admission.matching import authorizations
    from drakit_embedded.apiserver.admission.matching.conditions import ConditionsError

    values = {"object": seen.object, "oldObject": seen.old, "request": seen.request}
    try:
        return conditions.hold({**values, **authorizations.variables(attributes, cluster)})
    except ConditionsError as error:
        group, plural = attributes.resource
        raise statuses.forbidden(plural, group, attributes.name, str(error)) from None


def question(hook: Hook, seen: View, attributes: Attributes, cluster: GuardedCluster) -> Question[Replied]:
    """Build the question to a webhook.

    Raises:
        StatusError: 400 if it may not be called in a dry run.
        CallError: if it understands no review, or its authorities cannot be read.
    """
    if attributes.dry_run and not hook.may_run_dry:
        if hook.side_effects is None:
            raise CallError("Webhook SideEffects is nil")
        raise statuses.bad_request(f"admission webhook {quote(hook.name)} does not support dry run")
    version = reviews.version(hook.versions)
    if version is None:
        raise CallError(f"{_UNKNOWN_VERSIONS} (v1, v1beta1)")
    try:
        clients.check(hook.target)
    except clients.UnusableError as error:
        raise CallError(f"could not get REST client: {error}") from None
    content = seen.content

    async def ask(seconds: float) -> Replied:
        uid = str(uuid.uuid4())
        body = reviews.review(content, version, uid)
        return Replied(uid, await cluster.outgoing.post(hook.target, body, min(seconds, hook.seconds)))

    return Question((hook, attributes.round), content, ask)


def answer(hook: Hook, replied: Replied, attributes: Attributes, *, mutating: bool) -> Answer:
    """Read the answer, pass its warnings on, and return it if it allows the write.

    Raises:
        CallError: if there is no valid answer.
        StatusError: the refusal, if it does not allow the write.
    """
    version = reviews.version(hook.versions) or ""
    found = answers.read(replied.reply, uid=replied.uid, version=version, mutating=mutating)
    for warning in found.warnings:
        attributes.warn(warning)
    if not found.allowed:
        raise _refusal(hook, found.status)
    return found


def failed(hook: Hook, error: CallError) -> StatusError | None:
    """Build the refusal that a failed call is; None if the webhook's failures are to be ignored."""
    if hook.ignores_failures:
        return None
    return statuses.internal(f"failed calling webhook {quote(hook.name)}: {error}")


def _refusal(hook: Hook, status: Object) -> StatusError:
    """Build the refusal that a webhook asked for (``ToStatusErr``)."""
    message, reason = status.get("message", ""), status.get("reason", "")
    denied = f"admission webhook {quote(hook.name)} denied the request"
    why = f": {message or reason}" if message or reason else " without explanation"
    code = max(status.get("code", 0), _LEAST_CODE)
    # Go's server cannot send others, and answers with an error of its own.
    code = code if code <= _MOST_CODE else 500
    return StatusError(code, reason, denied + why, answer_types.details(status) or None)
