"""How objects are converted between versions: not at all, or by a webhook.

Source: ``validateCustomResourceConversion`` of ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/apis/apiextensions/validation/validation.go``. Its messages have the names of the internal form, in which the
fields of ``webhook`` stand one level higher.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, forbidden, invalid, one_of, required
from drakit_embedded.apiserver.registry.admission_kinds.webhook_clients import client_config
from drakit_embedded.apiserver.registry.certificates import pem

_STRATEGIES = ("None", "Webhook")
_REVIEW_VERSIONS = ("v1", "v1beta1")


def conversion_faults(conversion: Object, path: str, *, any_review: bool, any_bundle: bool) -> Errors:
    """Check a conversion.

    ``any_review``: it had only versions of reviews already that this server does not know. ``any_bundle``: its
    authority need not be valid, as it was not, or as nothing is served yet.
    """
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    yield from one_of(strategy, _STRATEGIES, f"{path}.strategy")
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        yield from _client_faults(client, f"{path}.webhookClientConfig", any_bundle=any_bundle)
        yield from _review_faults(versions, f"{path}.conversionReviewVersions", any_review=any_review)
        return
    unused = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden(f"{path}.webhookClientConfig", unused)
    if versions:
        yield forbidden(f"{path}.conversionReviewVersions", unused)


def _client_faults(client: Object | None, path: str, *, any_bundle: bool) -> Errors:
    if client is None:
        yield required(path, "required when strategy is set to Webhook")
        return
    yield from client_config(client, path)
    if client.get("caBundle") and not any_bundle and not is_bundle(client["caBundle"]):
        problem = "unable to load root certificates: unable to parse bytes as PEM block"
        yield invalid(f"{path}.caBundle", client["caBundle"], problem)


def is_bundle(encoded: str) -> bool:
    """Tell whether bytes, in base64, have a certificate in them (``ValidateCABundle``)."""
    from cryptography import x509

    for block in pem.blocks(base64.b64decode(encoded)):
        if block.type == "CERTIFICATE" and not block.has_headers:
            try:
                x509.load_der_x509_certificate(block.content)
            except ValueError:
                return False
            return True
    return False


def has_known_review(versions: Sequence[str]) -> bool:
    """Tell whether a webhook takes reviews that this server can send, or does not say which it takes."""
    return not versions or any(version in _REVIEW_VERSIONS for version in versions)


def _review_faults(versions: Sequence[str], path: str, *, any_review: bool) -> Errors:
    if not versions:
        yield required(path)
        return
    for place, version in enumerate(versions):
        if version in versions[:place]:
            yield invalid(f"{path}[{place}]", version, "duplicate version")
        else:
            yield from (invalid(f"{path}[{place}]", version, problem) for problem in formats.dns_1035_label(version))
    if not any_review and not has_known_review(versions):
        yield invalid(path, list(versions), f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")
