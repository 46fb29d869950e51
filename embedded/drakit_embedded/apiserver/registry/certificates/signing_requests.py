"""CertificateSigningRequests: what may be asked for, and how it is approved and signed.

After k8s.io/kubernetes/pkg/registry/certificates/certificates/strategy.go and pkg/apis/certificates/validation.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from drakit_embedded.apiserver.registry.certificates import pem, signers
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme import metadata

if TYPE_CHECKING:
    from cryptography import x509

_LEGACY = "kubernetes.io/legacy-unknown"
_LEAST_SECONDS = 600
_USAGES = frozenset(
    {
        *("signing", "digital signature", "content commitment", "key encipherment", "key agreement"),
        *("data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any", "server auth"),
        *("client auth", "code signing", "email protection", "s/mime", "ipsec end system", "ipsec tunnel"),
        *("ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc"),
    }
)
_DECIDED = ("Approved", "Denied")
_NEVER_REMOVED = (*_DECIDED, "Failed")
_CONDITIONS, _CERTIFICATE = "status.conditions", "status.certificate"
_BOTH = [f'conditions[{{"type": "{name}"}}]' for name in _DECIDED]


class MalformedRequest(ValueError):
    """A certificate request that is malformed or not signed with its own key; the message is Go's."""


def parsed(request: str) -> x509.CertificateSigningRequest:
    """Parse the first PEM block of ``spec.request``, which is base64 (``ParseCSR``).

    Raises:
        MalformedRequest: in Go's words, but with one message for everything that is wrong inside the ASN.1.
    """
    from cryptography import x509

    block = next(pem.blocks(base64.b64decode(request)), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        raise MalformedRequest("PEM block type must be CERTIFICATE REQUEST")
    _check_outside(block.content)
    try:
        found = x509.load_der_x509_csr(block.content)
        organizations(found)
        found.public_key()
    except Exception as error:  # the library raises ValueError, UnsupportedAlgorithm, and others for malformed keys
        raise MalformedRequest("asn1: structure error: malformed certificate request") from error
    return found


def organizations(request: x509.CertificateSigningRequest) -> list[str]:
    """List the groups that the certificate would be for, which are the organizations of its subject.

    Raises:
        ValueError: if they cannot be read.
    """
    from cryptography.x509.oid import NameOID

    names = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [name.value if isinstance(name.value, str) else name.value.decode(errors="replace") for name in names]


def _check_outside(der: bytes) -> None:
    """Check the tag and the length of the outermost ASN.1 element, in the words of Go's ``encoding/asn1``."""
    if len(der) < 2:
        raise MalformedRequest("asn1: syntax error: truncated tag or length")
    size, length = 2, der[1]
    if length > 0x80:
        size += length - 0x80
        length = int.from_bytes(der[2:size])
    if der[0] != 0x30:
        tag, is_compound = der[0] & 0x1F, str(bool(der[0] & 0x20)).lower()
        found = f"{{class:{der[0] >> 6} tag:{tag} length:{length} isCompound:{is_compound}}}"
        options = (
            "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
            "stringType:0 timeType:0 set:false omitEmpty:false}"
        )
        raise MalformedRequest(
            f"asn1: structure error: tags don't match (16 vs {found}) {options} certificateRequest @{size}"
        )
    if len(der) != size + length:
        why = "data truncated" if len(der) < size + length else "trailing data"
        raise MalformedRequest(f"asn1: syntax error: {why}")


def _check_signature(request: x509.CertificateSigningRequest) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    try:
        if request.is_signature_valid:
            return
    except (UnsupportedAlgorithm, ValueError, TypeError):
        raise MalformedRequest("x509: cannot verify signature: algorithm unimplemented") from None
    key = request.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        raise MalformedRequest("x509: ECDSA verification failure")
    if isinstance(key, ed25519.Ed25519PublicKey):
        raise MalformedRequest("x509: Ed25519 verification failure")
    raise MalformedRequest("crypto/rsa: verification error")


def _spec(obj: Object) -> Object:
    found: Object = obj.get("spec") or {}
    return found


def _status(obj: Object) -> Object:
    found: Object = obj.get("status") or {}
    return found


def _conditions(obj: Object) -> list[Object]:
    return _status(obj).get("conditions") or []


def _of_type(obj: Object, kind: str) -> list[Object]:
    return [condition for condition in _conditions(obj) if condition.get("type", "") == kind]


def _types(obj: Object) -> list[str]:
    return [condition.get("type", "") for condition in _conditions(obj)]


def _repeats(values: Sequence[Any]) -> bool:
    return len(set(values)) < len(values)


def _prepare_update(new: Object, old: Object, cluster: Cluster) -> None:
    """Keep the spec as it was: an update may change the metadata only."""
    new["spec"] = _spec(old)


def _prepare_status(new: Object, old: Object, cluster: Cluster) -> None:
    """Keep approval and denial as they were if there are as many of them as before."""
    for kind in _DECIDED:
        before, now = _of_type(old, kind), _of_type(new, kind)
        if len(before) == len(now):
            for was, condition in zip(before, now, strict=True):
                condition.clear()
                condition.update(was)
    _date(new, old)


def _prepare_approval(new: Object, old: Object, cluster: Cluster) -> None:
    """Let an approval change only the conditions of the status."""
    _date(new, old)
    conditions = _status(new).get("conditions")
    new["status"] = {key: value for key, value in _status(old).items() if key != "conditions"}
    if conditions:
        new["status"]["conditions"] = conditions


def _date(new: Object, old: Object) -> None:
    """Fill in the times that conditions have not got."""
    now = metadata.timestamp()
    for condition in _conditions(new):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            before = (
                was["lastTransitionTime"]
                for was in _of_type(old, condition.get("type", ""))
                if was.get("status") == condition.get("status") and was.get("lastTransitionTime")
            )
            condition["lastTransitionTime"] = next(before, now)


def _validate(obj: Object, cluster: Cluster, old: Object | None = None) -> list[FieldError]:
    """Validate a request; what was wrong in ``old``, the stored object, may stay wrong."""
    return [*_spec_faults(_spec(obj), _spec(old or {})), *_condition_faults(obj, old or {}), *_signed_faults(obj, old)]


def _spec_faults(spec: Object, old: Object) -> Iterator[FieldError]:
    request, usages, signer = spec.get("request") or "", spec.get("usages") or [], spec.get("signerName") or ""
    if request != old.get("request") or not old:
        try:
            _check_signature(parsed(request))
        except MalformedRequest as error:
            yield invalid("spec.request", request, str(error))
    if not usages:
        yield required("spec.usages")
    before = old.get("usages") or []
    if _USAGES.issuperset(before):
        unknown = [(index, usage) for index, usage in enumerate(usages) if usage not in _USAGES]
        yield from (not_supported(f"spec.usages[{index}]", usage, sorted(_USAGES)) for index, usage in unknown)
    if not _repeats(before):
        yield from _repeated("spec.usages[{}]", usages)
    if signer == _LEGACY and old.get("signerName") != _LEGACY:
        yield invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version")
    else:
        yield from signers.faults("spec.signerName", signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        why = f"may not specify a duration less than {_LEAST_SECONDS} seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, why)


def _repeated(path: str, values: list[str]) -> Iterator[FieldError]:
    seen = set()
    for index, value in enumerate(values):
        if value in seen:
            yield duplicate(path.format(index), value)
        seen.add(value)


def _condition_faults(obj: Object, old: Object) -> Iterator[FieldError]:
    types, before = _types(obj), _types(old)
    for index, condition in enumerate(_conditions(obj)):
        yield from _one_condition(f"{_CONDITIONS}[{index}]", condition, may_be_nameless="" in before)
    if set(_DECIDED) <= set(types) and not set(_DECIDED) <= set(before):
        listed = ", ".join(f"`{name}`" for name in _BOTH)
        yield invalid(_CONDITIONS, f"{{{', '.join(_BOTH)}}}", f"must specify at most one of: {listed}")
    if not _repeats(before):
        yield from _repeated(_CONDITIONS + "[{}].type", types)


def _one_condition(path: str, condition: Object, *, may_be_nameless: bool) -> Iterator[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    if not kind and not may_be_nameless:
        yield required(f"{path}.type")
    allowed = ["True"] if kind in _NEVER_REMOVED else ["False", "True", "Unknown"]
    if not status:
        yield required(f"{path}.status")
    elif status not in allowed:
        yield not_supported(f"{path}.status", status, allowed)


def _signed_faults(obj: Object, old: Object | None) -> Iterator[FieldError]:
    certificate = _status(obj).get("certificate") or ""
    before = None if old is None else _status(old).get("certificate") or ""
    is_tolerated = before is not None and (certificate == before or bool(_certificate_problem(before)))
    if not is_tolerated and (problem := _certificate_problem(certificate)):
        yield invalid(_CERTIFICATE, "<certificate data>", problem)


def _certificate_problem(text: str) -> str:
    """Find what is wrong with certificates in base64 of PEM (``validateCertificate``); empty if nothing is."""
    found = list(pem.blocks(base64.b64decode(text)))
    for block in found:
        if block.type != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.type}"'
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not is_certificate(block.content):
            return "x509: malformed certificate"
    return "must contain at least one CERTIFICATE PEM block" if text and not found else ""


def is_certificate(der: bytes) -> bool:
    """Check whether ``der`` can be read as an X.509 certificate."""
    from cryptography import x509

    try:
        x509.load_der_x509_certificate(der)
    except ValueError:
        return False
    return True


def _validate_update(
    new: Object, old: Object, cluster: Cluster, *, approving: bool = False, signing: bool = False
) -> list[FieldError]:
    found = _validate(new, cluster, old)
    found += [
        forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')
        for kind in _NEVER_REMOVED
        if len(_of_type(new, kind)) < len(_of_type(old, kind))
    ]
    if not approving:
        found += [
            forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"')
            for kind in _DECIDED
            if len(_of_type(new, kind)) > len(_of_type(old, kind))
        ]
    before = _status(old).get("certificate") or ""
    if (_status(new).get("certificate") or "") != before:
        if not signing:
            found.append(forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif before:
            found.append(forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return found


STRATEGY = Strategy(
    fields=("spec.signerName",),
    name_format=formats.path_segment,
    validate_create=_validate,
    prepare_update=_prepare_update,
    validate_update=_validate_update,
    prepare_status=_prepare_status,
    validate_status=functools.partial(_validate_update, signing=True),
    prepare_approval=_prepare_approval,
    validate_approval=functools.partial(_validate_update, approving=True),
)
