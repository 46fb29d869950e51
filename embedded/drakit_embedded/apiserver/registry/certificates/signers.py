"""Names of signers: ``example.com/name`` (ValidateSignerName in pkg/apis/core/validation/names.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from drakit_api import formats, limits
from drakit_api.golang.gostrings import quote
from drakit_api.validation.errors import Errors, FieldError, invalid, required, too_long

_LONGEST = 2 * limits.DNS_SUBDOMAIN_LENGTH + limits.DNS_LABEL_LENGTH + 2


def faults(path: str, name: str) -> Errors:
    """Validate the name of a signer, whose domain needs at least two labels."""
    if not name:
        yield required(path)
        return
    domain, *rest = name.split("/")
    if len(rest) != 1:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    if len(domain) > limits.DNS_SUBDOMAIN_LENGTH:
        yield too_long(path, limits.DNS_SUBDOMAIN_LENGTH)
    labels = domain.split(".")
    yield from _first(path, domain, labels, lambda label: formats.dns_label(label, "characters"))
    if len(labels) < 2:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first(path, rest[0], rest[0].split("."), lambda label: formats.dns_subdomain(label, "characters"))
    if len(name) > _LONGEST:
        yield too_long(path, _LONGEST)


def _first(path: str, text: str, labels: list[str], rule: Callable[[str], Sequence[str]]) -> Iterator[FieldError]:
    """Report what is wrong with the first invalid label."""
    for label in labels:
        if problems := rule(label):
            yield from (invalid(path, text, f"validating label {quote(label)}: {problem}") for problem in problems)
            return
