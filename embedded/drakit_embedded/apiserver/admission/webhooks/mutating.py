"""Mutating webhooks: one after the other, each on what the ones before made of the object.

After k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go.
"""

from __future__ import annotations

import copy

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch
from drakit_api.structural.same_values import same
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.configured import Configured
from drakit_embedded.apiserver.admission.matching.reading_back import read_back
from drakit_embedded.apiserver.admission.reinvocations import Reinvocations
from drakit_embedded.apiserver.admission.webhooks import calling
from drakit_embedded.apiserver.admission.webhooks.answers import Answer, CallError
from drakit_embedded.apiserver.admission.webhooks.hooks import Hook
from drakit_embedded.apiserver.admission.webhooks.reviews import View, Views
from drakit_embedded.apiserver.reruns import memory
from drakit_embedded.apiserver.wire import budget

_NAME = "MutatingAdmissionWebhook"


def admit(configured: Configured[Hook], attributes: Attributes, cluster: GuardedCluster) -> None:
    """Ask the webhooks that a write concerns, and change the object as they say.

    Raises:
        StatusError: if one refuses, or fails and may not.
        Pending: if an answer is still to come.
    """
    hooks = configured.of(attributes.kind, cluster)
    if not hooks or not memory.can_ask():
        return
    reinvocations: Reinvocations[Hook] = Reinvocations.of(attributes, _NAME)
    reinvocations.begin(attributes)
    views = Views(attributes, cluster)
    for hook in hooks:
        seen = calling.view(hook, views, attributes, cluster)
        if seen is None or not reinvocations.is_due(hook, attributes):
            continue
        if _call(hook, seen, attributes, cluster):
            reinvocations.changed()
            views.forget()
        if hook.reinvoked:
            reinvocations.called(hook)
    reinvocations.end(attributes)


def _call(hook: Hook, seen: View, attributes: Attributes, cluster: GuardedCluster) -> bool:
    """Call one webhook; returns whether it has changed the object."""
    try:
        question = calling.question(hook, seen, attributes, cluster)
        (replied,) = memory.answers([question])
        answer = calling.answer(hook, replied, attributes, mutating=True)
        operations = _operations(answer)
    except CallError as error:
        refusal = calling.failed(hook, error)
        if refusal is not None:
            raise refusal from None
        return False
    return bool(operations) and _patch(hook, operations, seen, attributes, cluster)


def _operations(answer: Answer) -> list[Object]:
    """Parse the patch of an answer (``jsonpatch.DecodePatch``)."""
    if not answer.patch:
        return []
    try:
        found = gojson.single(gojson.read(answer.patch))
    except gojson.JsonError as error:
        raise CallError(f"received undecodable patch in webhook response: {error}") from None
    wrong, into = found, "jsonpatch.Patch"
    if isinstance(found, list):
        wrong, into = next((each for each in found if not isinstance(each, dict | None)), {}), "jsonpatch.Operation"
    if found is not None and (not isinstance(found, list) or not isinstance(wrong, dict)):
        why = f"json: cannot unmarshal {gojson.name_of(wrong)} into Go value of type {into}"
        raise CallError(f"received undecodable patch in webhook response: {why}")
    if found and answer.patch_type != "JSONPatch":
        raise CallError(f"unsupported patch type {quote(answer.patch_type)}")
    return found or []


def _patch(hook: Hook, operations: list[Object], seen: View, attributes: Attributes, cluster: GuardedCluster) -> bool:
    """Apply a patch to the object; returns whether anything has changed."""
    if seen.object is None:
        what = "attempted to modify the object, which is not supported for this operation"
        raise statuses.internal(f"admission webhook {quote(hook.name)} {what}")
    try:
        # Copies, as the view is not only of this webhook.
        before = read_back(copy.deepcopy(seen.object), attributes, seen.kind, cluster)
        patched = json_patch.applied(copy.deepcopy(dict(seen.object)), operations)
        budget.check(patched)
        after = read_back(patched, attributes, seen.kind, cluster)
    except (json_patch.OperationError, budget.TooDeepError, RecursionError) as error:
        raise statuses.internal(str(error)) from None
    if same(after, before):
        return False
    cluster.default(after, attributes.kind, attributes.subresource)
    attributes.replace(after)
    return True
