"""Mutating webhooks: one after the other, each on what the ones before made of the object.

After k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/{dispatcher,reinvocationcontext}.go.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.configured import Configured
from drakit_embedded.apiserver.admission.matching.shown import taken
from drakit_embedded.apiserver.admission.webhooks import calling
from drakit_embedded.apiserver.admission.webhooks.answers import Answer, CallError
from drakit_embedded.apiserver.admission.webhooks.hooks import Hook
from drakit_embedded.apiserver.admission.webhooks.reviews import View
from drakit_embedded.apiserver.reruns import memory
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import budget

_NAME = "MutatingAdmissionWebhook"


class _Reinvocations:
    """Which webhooks are to be called once more, because others have changed the object after them."""

    def __init__(self) -> None:
        self._called: set[Hook] = set()
        self._again: set[Hook] = set()
        self._left: Object | None = None

    @classmethod
    def of(cls, attributes: Attributes) -> _Reinvocations:
        """Find those of a write."""
        found = attributes.contexts.setdefault(_NAME, cls())
        assert isinstance(found, cls)
        return found

    def begin(self, attributes: Attributes) -> None:
        """Begin a run of the chain: what others have changed since the run before is to be seen."""
        if attributes.round and self._left != attributes.object:
            self.changed()

    def end(self, attributes: Attributes) -> None:
        """End a run of the chain, remembering how it left the object."""
        self._left = copy.deepcopy(attributes.object)

    def is_due(self, hook: Hook, attributes: Attributes) -> bool:
        """Check whether a webhook is to be called; in the second run, none is called for the first time."""
        return not attributes.round or hook in self._again

    def called(self, hook: Hook) -> None:
        """Note a call of a webhook that wants to see later changes."""
        if hook.reinvoked:
            self._called.add(hook)

    def changed(self) -> None:
        """Note a change of the object."""
        self._again |= self._called
        self._called.clear()


def admit(configured: Configured[Hook], attributes: Attributes, cluster: GuardedCluster) -> None:
    """Ask the webhooks that a write concerns, and change the object as they say.

    Raises:
        StatusError: if one refuses, or fails and may not.
        Pending: if an answer is still to come.
    """
    hooks = configured.of(attributes.kind, cluster)
    if not hooks or not memory.can_ask():
        return
    reinvocations = _Reinvocations.of(attributes)
    reinvocations.begin(attributes)
    for hook in hooks:
        seen = calling.view(hook, attributes, cluster)
        if seen is None or not reinvocations.is_due(hook, attributes):
            continue
        if _call(hook, seen, attributes, cluster):
            reinvocations.changed()
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
        found = gojson.single(gojson.read(answer.patch, long_numbers=False))
    except gojson.JsonError as error:
        raise CallError(f"received undecodable patch in webhook response: {error}") from None
    wrong, into = found, "jsonpatch.Patch"
    if isinstance(found, list):
        wrong, into = next((each for each in found if not isinstance(each, dict)), {}), "jsonpatch.Operation"
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
        before = _read(copy.deepcopy(seen.object), seen, attributes, cluster)
        patched: Any = json_patch.applied(seen.object, operations)
        budget.check(patched)
        after = _read(patched, seen, attributes, cluster)
    except (json_patch.OperationError, budget.TooDeepError, RecursionError) as error:
        raise statuses.internal(str(error)) from None
    if after == before:
        return False
    cluster.default(after, attributes.kind, attributes.subresource)
    attributes.replace(after)
    return True


def _read(patched: Any, seen: View, attributes: Attributes, cluster: GuardedCluster) -> Object:
    """Read a patched object by the types of its kind; what cannot be read is an error of the server's, as upstream."""
    kind, meta = seen.request["kind"]["kind"], patched.get("metadata") if isinstance(patched, dict) else None
    if not isinstance(patched, dict) or not isinstance(meta, dict | None):
        why = f"json: cannot unmarshal {gojson.name_of(patched if meta is None else meta)} into Go value of type {kind}"
        raise statuses.internal(why)
    if "metadata" not in patched and attributes.operation != "CONNECT":
        patched["metadata"] = {}
    try:
        return taken(patched, attributes, seen.kind, cluster)
    except StatusError as error:
        _, found, why = error.message.partition(f"cannot be handled as a {kind}: ")
        raise statuses.internal(why if found else error.message) from None
    except msgspec.ValidationError as error:
        raise statuses.internal(str(error)) from None
