"""ClusterTrustBundles: authorities for a signer's certificates (ValidateClusterTrustBundle)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError, invalid, too_long
from drakit_api.validation.metadata import object_name
from drakit_embedded.apiserver.registry.certificates import pem, signers
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy

_PATH = "spec.trustBundle"
_OMITTED = "<value omitted>"
_MOST_BYTES = 1024 * 1024  # MaxTrustBundleSize


def _validate(obj: Object, cluster: Cluster) -> list[FieldError]:
    return [*_named(obj), *_bundle_faults(obj["spec"].get("trustBundle") or "")]


def _validate_update(new: Object, old: Object, cluster: Cluster) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    found = list(_named(new))
    if spec.get("trustBundle") != before.get("trustBundle"):
        found += _bundle_faults(spec.get("trustBundle") or "")
    signer = spec.get("signerName") or ""
    if signer != (before.get("signerName") or ""):
        found.append(invalid("spec.signerName", signer, "field is immutable"))
    return found


def _named(obj: Object) -> Iterator[FieldError]:
    """Check that the name of a bundle begins with that of its signer."""
    name, signer = obj["metadata"]["name"], obj["spec"].get("signerName") or ""
    yield from (invalid("metadata.name", name, problem) for problem in _name_problems(name, signer))
    if signer:
        yield from signers.faults("spec.signerName", signer)


def _name_problems(name: str, signer: str) -> Sequence[str]:
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return object_name(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return object_name(name.removeprefix(prefix))


def _bundle_faults(text: str) -> list[FieldError]:
    """Check that there are only certificates of authorities, at least one, and none twice."""
    data = text.encode()
    if len(data) > _MOST_BYTES:
        return [too_long(_PATH, _MOST_BYTES)]
    places: dict[bytes, list[int]] = {}
    problems = []
    for index, block in enumerate(pem.blocks(data)):
        if problem := _block_problem(block):
            problems.append(f"entry {index} {problem}")
        else:
            places.setdefault(block.content, []).append(index)
    if not problems:
        problems = [
            f"duplicate trust anchor (indices [{' '.join(map(str, indices))}])"
            for indices in places.values()
            if len(indices) > 1
        ]
        if not places:
            problems = ["at least one trust anchor must be provided"]
    return [invalid(_PATH, _OMITTED, problem) for problem in problems]


def _block_problem(block: pem.Block) -> str:
    from cryptography import x509

    if block.type != "CERTIFICATE":
        return f"has bad block type: {block.type}"
    if block.has_headers:
        return "has PEM block headers"
    try:
        constraints = x509.load_der_x509_certificate(block.content).extensions.get_extension_for_class(
            x509.BasicConstraints
        )
    except x509.ExtensionNotFound:
        return "does not have the CA bit set"
    except (ValueError, x509.DuplicateExtension):
        return "does not parse as X.509"
    return "" if constraints.value.ca else "does not have the CA bit set"


STRATEGY = Strategy(
    fields=("spec.signerName",),
    name_format=formats.path_segment,
    validate_create=_validate,
    validate_update=_validate_update,
    unconditional_update=False,
)
