"""The AdmissionReview that is sent to a webhook.

``CreateAdmissionObjects`` of k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go; v1 and v1beta1
look the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec

from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching import requests
from drakit_embedded.apiserver.admission.matching.shown import shown
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError
from drakit_embedded.apiserver.scheme.kinds import Kind

_encode = msgspec.json.Encoder().encode
# Fields that are left out if they are empty.
_OPTIONAL = ("subResource", "requestSubResource", "name", "namespace")
_VERSIONS = ("v1", "v1beta1")


@dataclass(frozen=True, eq=False)
class View:
    """What webhooks see of a write, if they ask for it in the same kind; shared by them, and not to be changed."""

    kind: Kind
    request: Object
    object: ReadOnlyObject | None
    old: ReadOnlyObject | None

    @cached_property
    def content(self) -> bytes:
        """What a webhook is told, encoded, but for the UID that each call has of its own."""
        told = {key: value for key, value in self.request.items() if value or key not in _OPTIONAL}
        told["userInfo"] = {key: value for key, value in told["userInfo"].items() if value}
        return _encode({**told, "object": self.object, "oldObject": self.old})


class Views:
    """The views of one write, each made when the first webhook asks for it."""

    def __init__(self, attributes: Attributes, cluster: GuardedCluster) -> None:
        """Show the objects of a write as they are when they are asked for."""
        self._attributes, self._cluster = attributes, cluster
        self._known: dict[Kind, View] = {}

    def of(self, kind: Kind) -> View:
        """Find or build the view in a kind."""
        found = self._known.get(kind)
        if found is None:
            attributes = self._attributes
            try:
                new = shown(attributes.object, attributes, kind, self._cluster)
                old = shown(attributes.old, attributes, kind, self._cluster)
            except ConversionError as error:
                raise statuses.internal(error.message) from None
            found = self._known[kind] = View(kind, requests.request(attributes, kind), new, old)
        return found

    def forget(self) -> None:
        """Forget views of an object that has changed."""
        self._known.clear()


def version(accepted: tuple[str, ...]) -> str | None:
    """Choose the version of the review: the first that a webhook accepts and that is known here."""
    return next((each for each in accepted if each in _VERSIONS), None)


def review(content: bytes, version: str, uid: str) -> bytes:
    """Complete a review."""
    head = f'{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/{version}","request":{{"uid":"{uid}",'
    return head.encode() + content[1:] + b"}"
