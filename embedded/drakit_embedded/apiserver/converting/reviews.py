"""The ConversionReview that is sent; v1 and v1beta1 look the same.

``createConversionReviewObjects`` of k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from drakit_api.kubernetes_objects import Object

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
_VERSIONS = ("v1", "v1beta1")
# Upstream sends the struct with both of its parts.
_RESPONSE = b'"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}'
# As upstream has no structs of custom resources, but maps, it prints them by their keys.
_encode = msgspec.json.Encoder(order="sorted").encode


def version(accepted: Iterable[str]) -> str | None:
    """Choose the version of the review: the first that a program accepts and that is known here."""
    return next((each for each in accepted if each in _VERSIONS), None)


def content(obj: Object, wanted: str) -> bytes:
    """Encode what is asked, but for the UID that each call has of its own: to convert an object to ``wanted``."""
    return b'"desiredAPIVersion":%b,"objects":[%b]' % (_encode(wanted), _encode(obj))


def review(content: bytes, version: str, uid: str) -> bytes:
    """Complete a review."""
    head = f'{{"kind":"{KIND}","apiVersion":"{GROUP}/{version}","request":{{"uid":"{uid}",'
    return b"%b%b},%b}" % (head.encode(), content, _RESPONSE)
