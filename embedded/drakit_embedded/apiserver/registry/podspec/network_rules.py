"""What a pod says of names and of the network: DNS, its own name, ports of the host.

After validatePodDNSConfig, validatePodHostName, ValidateHostAliases and validatePodHostNetworkDeps in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go, and k8s.io/apimachinery/pkg/util/validation/ip.go.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from drakit_api.core.containers import placed_containers
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, forbidden, invalid, not_supported, required, too_long

_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SERVERS, _MOST_SEARCHES, _LONGEST_SEARCHES = 3, 32, 2048
_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = rf"{_LABEL}(\.{_LABEL})*"
_IS_SEARCH = re.compile(_SEARCH)
_WRONG_SEARCH = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SEARCH}')"
)
_LONGEST_NAME, _LONGEST_HOST = 253, 64
_ZEROS = re.compile(r"\b0+(?=[0-9])")


def address(text: str, path: str) -> Errors:
    """Validate an IP address, in a form that all programs read alike (IsValidIPForLegacyField)."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        yield invalid(path, text, _why_none(text))
        return
    if "%" in text:
        yield invalid(path, text, _NO_ADDRESS)
    elif parsed.version == 6 and parsed.ipv4_mapped is not None:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")


_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def _why_none(text: str) -> str:
    try:
        ipaddress.IPv4Address(_ZEROS.sub("", text))
    except ValueError:
        return _NO_ADDRESS
    return "must not have leading 0s"


def dns(spec: Object, path: str) -> Errors:
    """Validate ``dnsConfig``."""
    config, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec["dnsPolicy"] == "None":
        if config is None:
            yield required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{at}.nameservers", detail)
            return
    if config:
        yield from _servers(config.get("nameservers") or [], f"{at}.nameservers")
        yield from _searches(config.get("searches") or [], f"{at}.searches")
        for index, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                yield required(f"{at}.options[{index}]", "must not be empty")


def dns_policy(spec: Object, path: str) -> Errors:
    """Validate ``dnsPolicy``."""
    if (policy := spec["dnsPolicy"]) not in _POLICIES:
        yield not_supported(f"{path}.dnsPolicy", policy, _POLICIES)


def _servers(servers: list[str], path: str) -> Errors:
    if len(servers) > _MOST_SERVERS:
        yield invalid(path, servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from address(server, f"{path}[{index}]")


def _searches(searches: list[str], path: str) -> Errors:
    if len(searches) > _MOST_SEARCHES:
        yield invalid(path, searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches).encode()) > _LONGEST_SEARCHES:
        detail = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(path, searches, detail)
    for index, search in enumerate(searches):
        if search == ".":
            continue
        name = search.removesuffix(".")
        if len(name.encode()) > _LONGEST_NAME:
            yield invalid(f"{path}[{index}]", name, f"must be no more than {_LONGEST_NAME} characters")
        if not _IS_SEARCH.fullmatch(name):
            yield invalid(f"{path}[{index}]", name, _WRONG_SEARCH)


def host_ports(spec: Object, path: str, *, of_pod: bool) -> Errors:
    """Check that ports on the host's network are the same inside and outside; templates may leave ``hostPort`` out."""
    for at, container in placed_containers(spec, path, ("containers",)):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (of_pod or host) and host != (port.get("containerPort") or 0):
                yield invalid(
                    f"{at}.ports[{number}].hostPort", host, "must match `containerPort` when `hostNetwork` is true"
                )


def host_name(spec: Object, path: str) -> Errors:
    """Validate ``hostnameOverride``."""
    name, at = spec["hostnameOverride"], f"{path}.hostnameOverride"
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield forbidden(at, f"may not be specified when {field} is true")
    if len(name.encode()) > _LONGEST_HOST:
        yield too_long(at, _LONGEST_HOST)
    yield from names.dns_subdomain(name, at)


def label_in(field: str) -> Callable[[Object, str], Errors]:
    """Build a rule that a field of the spec is a DNS label."""

    def rule(spec: Object, path: str) -> Errors:
        yield from names.dns_label(spec[field], f"{path}.{field}")

    return rule


def aliases(spec: Object, path: str) -> Errors:
    """Validate ``hostAliases``."""
    for index, alias in enumerate(spec["hostAliases"]):
        at = f"{path}.hostAliases[{index}]"
        yield from address(alias.get("ip") or "", f"{at}.ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            yield from names.dns_subdomain(name, f"{at}.hostnames[{number}]")
