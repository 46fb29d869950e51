"""A program that converts the custom resources of a definition, and how it is asked.

k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/conversion/webhook_converter.go. As the storage reads objects one by
one there, each review has one object.
"""

from __future__ import annotations

import uuid

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.converting import answers, reviews
from drakit_embedded.apiserver.outgoing import targets
from drakit_embedded.apiserver.outgoing.clients import Clients, Reply
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError
from drakit_embedded.apiserver.reruns import memory
from drakit_embedded.apiserver.reruns.memory import Question
from drakit_embedded.apiserver.scheme.definitions import Definition

# defaultRequestTimeout of apiserver/pkg/util/webhook
_SECONDS = 30.0


class Program:
    """The program that a definition names in its ``spec.conversion``."""

    def __init__(self, definition: Definition, outgoing: Clients) -> None:
        webhook = definition.conversion["webhook"]
        self._group, self._kind, self._outgoing = definition.group, definition.names["kind"], outgoing
        self._target = targets.of(webhook.get("clientConfig") or {})
        self._version = reviews.version(webhook.get("conversionReviewVersions") or ())

    def converted(self, obj: Object, source: str, wanted: str) -> Object:
        """Convert an object, without its type, from one version to another.

        Raises:
            ConversionError: if that fails.
            Pending: if the answer is still to come.
        """
        if source == wanted or not obj:
            return obj
        if self._version is None:
            raise ConversionError("no supported conversion review versions")
        meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
        sent = {"apiVersion": f"{self._group}/{source}", "kind": self._kind, **obj, "metadata": meta}
        target = f"{self._group}/{wanted}"
        question = self._question(reviews.content(sent, target), self._version, (meta.get("uid"), source, wanted))
        ((uid, reply),) = memory.answers([question])
        found = answers.converted(reply, uid, self._version, sent, target)
        if "resourceVersion" in obj["metadata"]:
            found["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
        return {key: value for key, value in found.items() if key not in ("apiVersion", "kind")}

    def _question(self, content: bytes, version: str, about: object) -> Question[tuple[str, Reply]]:
        async def ask(seconds: float) -> tuple[str, Reply]:
            uid = str(uuid.uuid4())
            body = reviews.review(content, version, uid)
            return uid, await self._outgoing.post(self._target, body, min(seconds, _SECONDS))

        return Question((self, about), content, ask)
