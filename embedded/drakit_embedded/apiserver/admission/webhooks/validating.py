"""Validating webhooks: all at once, on the object as it would be stored; the first that refuses decides.

After k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go.
"""

from __future__ import annotations

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.configured import Configured
from drakit_embedded.apiserver.admission.webhooks import calling
from drakit_embedded.apiserver.admission.webhooks.answers import CallError
from drakit_embedded.apiserver.admission.webhooks.calling import Replied
from drakit_embedded.apiserver.admission.webhooks.hooks import Hook
from drakit_embedded.apiserver.admission.webhooks.reviews import Views
from drakit_embedded.apiserver.reruns import memory
from drakit_embedded.apiserver.reruns.memory import Question
from drakit_embedded.apiserver.statuses import StatusError


def validate(configured: Configured[Hook], attributes: Attributes, cluster: GuardedCluster) -> None:
    """Ask all webhooks that a write concerns.

    Raises:
        StatusError: if one refuses, or fails and may not.
        Pending: if answers are still to come.
    """
    hooks = configured.of(attributes.kind, cluster)
    if not hooks or not memory.can_ask():
        return
    views = Views(attributes, cluster)
    seen = [(hook, view) for hook in hooks if (view := calling.view(hook, views, attributes, cluster)) is not None]
    refusals: list[StatusError] = []
    asked: list[tuple[Hook, Question[Replied]]] = []
    for hook, view in seen:
        try:
            asked.append((hook, calling.question(hook, view, attributes, cluster)))
        except (CallError, StatusError) as error:
            refusals += _refused(hook, error)
    replies = memory.answers([question for _, question in asked])
    for (hook, _), reply in zip(asked, replies, strict=True):
        try:
            calling.answer(hook, reply, attributes, mutating=False)
        except (CallError, StatusError) as error:
            refusals += _refused(hook, error)
    if refusals:
        raise refusals[0]


def _refused(hook: Hook, error: CallError | StatusError) -> list[StatusError]:
    if isinstance(error, StatusError):
        return [error]
    refusal = calling.failed(hook, error)
    return [refusal] if refusal is not None else []
