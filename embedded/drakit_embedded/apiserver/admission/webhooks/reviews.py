"""The AdmissionReview that is sent to a webhook.

``CreateAdmissionObjects`` of k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go; v1 and v1beta1
look the same.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching import requests
from drakit_embedded.apiserver.admission.matching.shown import shown
from drakit_embedded.apiserver.scheme.kinds import Kind

_encode = msgspec.json.Encoder().encode
# Fields that are left out if they are empty.
_OPTIONAL = ("subResource", "requestSubResource", "name", "namespace")
_VERSIONS = ("v1", "v1beta1")


class View(NamedTuple):
    """What one webhook is to see of a write, in the kind that it asks for."""

    kind: Kind
    request: Object
    object: Object | None
    old: Object | None

    @classmethod
    def of(cls, attributes: Attributes, kind: Kind, cluster: GuardedCluster) -> View:
        """Convert the objects of a write."""
        new = shown(attributes.object, attributes, kind, cluster)
        old = shown(attributes.old, attributes, kind, cluster)
        return cls(kind, requests.request(attributes, kind), new, old)

    def content(self) -> bytes:
        """Encode what a webhook is told, but for the UID that each call has of its own."""
        told = {key: value for key, value in self.request.items() if value or key not in _OPTIONAL}
        told["userInfo"] = {key: value for key, value in told["userInfo"].items() if value}
        return _encode({**told, "object": self.object, "oldObject": self.old})


def version(accepted: tuple[str, ...]) -> str | None:
    """Choose the version of the review: the first that a webhook accepts and that is known here."""
    return next((each for each in accepted if each in _VERSIONS), None)


def review(content: bytes, version: str, uid: str) -> bytes:
    """Complete a review."""
    head = f'{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/{version}","request":{{"uid":"{uid}",'
    return head.encode() + content[1:] + b"}"
