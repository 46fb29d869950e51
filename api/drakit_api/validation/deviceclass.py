"""Rules of DeviceClasses.

Source: ``ValidateDeviceClass`` and its siblings in ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``; ``ExtendedResourceName`` of ``k8s.io/apimachinery`` v0.37.1
``pkg/api/validate/strfmt.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api import formats, limits
from drakit_api.features import FeatureGates
from drakit_api.objects.equality import same_field
from drakit_api.validation import metadata
from drakit_api.validation.configuration import configuration, declared_configuration
from drakit_api.validation.errors import Errors, invalid
from drakit_api.validation.items import declared_list, each
from drakit_api.validation.names import declared_dns_subdomain
from drakit_api.validation.selectors import selectors

_SPEC = "resource/v1.DeviceClassSpec"


def on_create(obj: dict[str, Any], gates: FeatureGates) -> Errors:
    """Check a new class, as ``ValidateDeviceClass`` does."""
    yield from _metadata(obj)
    yield from _spec(obj.get("spec") or {}, None, gates)


def on_update(obj: dict[str, Any], old: dict[str, Any], gates: FeatureGates) -> Errors:
    """Check as ``ValidateDeviceClassUpdate``: stored expressions and parameters are not checked again."""
    yield from _metadata(obj)
    yield from metadata.on_update(obj.get("metadata") or {}, old.get("metadata") or {})
    yield from _spec(obj.get("spec") or {}, old.get("spec") or {}, gates)


def declared(obj: dict[str, Any]) -> Errors:
    """Check the declared rules, on creation and update."""
    name, spec = (obj.get("metadata") or {}).get("name"), obj.get("spec") or {}
    if name:
        yield from declared_dns_subdomain(name, "metadata.name")
    yield from declared_list(spec.get("selectors"), limits.SELECTORS, "spec.selectors")
    yield from declared_list(spec.get("config"), limits.CLAIM_CONFIGS, "spec.config", declared_configuration)
    if spec.get("extendedResourceName") is not None:
        yield from _extended_resource(spec["extendedResourceName"], "spec.extendedResourceName")


def _metadata(obj: dict[str, Any]) -> Errors:
    """Check the metadata without the name's format, which is a declared rule here, and without ``generateName``."""
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "generateName"}
    yield from metadata.on_create(meta, namespaced=False, name_format=_any_name)


def _any_name(name: str) -> list[str]:
    return []


def _spec(spec: dict[str, Any], old: dict[str, Any] | None, gates: FeatureGates) -> Errors:
    if old is None or not same_field(_SPEC, "selectors", spec, old):
        yield from selectors(spec.get("selectors"), "spec.selectors", gates)
    stored = old is not None and same_field(_SPEC, "config", spec, old)
    yield from each(
        spec.get("config"),
        "spec.config",
        lambda value, path: configuration(value, path, stored=stored),
        maximum=limits.CLAIM_CONFIGS,
    )


def _extended_resource(name: str, path: str) -> Errors:
    """Check the extended resource name: it has a domain, and works in quotas."""
    if "/" not in name:
        yield invalid(path, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in name:
        yield invalid(path, name, 'must not have "kubernetes.io/" domain')
    if name.startswith("requests."):
        yield invalid(path, name, 'must not have "requests." prefix')
    yield from (invalid(path, name, problem) for problem in formats.label_key(f"requests.{name}"))
