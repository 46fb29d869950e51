"""Impersonation: asking as somebody else, for whoever may.

Kubernetes knows it in modes. Some are narrow (a node, a service account, any other user): one must be allowed to be
that user and, besides, to do this very thing as one. The last is the old one: who may be a user may do all as it. They
are tried in this order, and if none fits, the first refusal is the answer. (kube-apiserver tries the one first that
fitted last: whether somebody who is ``system:node:x`` gets the group ``system:nodes`` with it depends on what was asked
before. Here it always does.)

After k8s.io/apiserver/pkg/endpoints/filters/impersonation/{constrained_impersonation,mode}.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from drakit_api import formats
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.identity.users import (
    ANONYMOUS,
    MASTERS,
    NODES,
    UNAUTHENTICATED,
    User,
    account_groups,
    account_of,
    authenticated,
    bound_node,
    node_of,
)
from drakit_embedded.apiserver.statuses import StatusError, bad_request

_PREFIX = "impersonate-"
_EXTRA_PREFIX = "impersonate-extra-"
_GROUP = "authentication.k8s.io"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
# From this number of groups or extra values on, one check for all is tried before one for each.
_MANY = 4
Check = Callable[[Access], None]


@dataclass(slots=True)
class Wanted:
    """The user to act as, from the headers of a request."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def name_only(self) -> bool:
        """Whether only the user's name is given."""
        return not (self.uid or self.groups or self.extra)

    def __str__(self) -> str:
        """Print the user as Go prints a user.DefaultInfo by ``%#v``."""
        groups = f"[]string{_braced(self.groups)}" if self.groups else "[]string(nil)"
        entries = ", ".join(f"{quote(key)}:[]string{_braced(self.extra[key])}" for key in sorted(self.extra))
        extra = f"map[string][]string{{{entries}}}" if self.extra else "map[string][]string(nil)"
        return f"&user.DefaultInfo{{Name:{quote(self.name)}, UID:{quote(self.uid)}, Groups:{groups}, Extra:{extra}}}"


def _braced(values: Iterable[str]) -> str:
    return "{" + ", ".join(quote(value) for value in values) + "}"


def asked(names: Iterable[str]) -> bool:
    """Check whether there is a header of impersonation among those of a request."""
    return any(name[:12].lower() == _PREFIX for name in names)


def read(headers: Iterable[tuple[str, str]]) -> Wanted | None:
    """Read the user to impersonate from the headers, if any.

    Raises:
        StatusError: 400 for headers that name a group, but no user.
    """
    wanted = Wanted()
    for name, value in headers:
        name = name.lower()
        if name == "impersonate-user":
            wanted.name = wanted.name or value
        elif name == "impersonate-uid":
            wanted.uid = wanted.uid or value
        elif name == "impersonate-group":
            wanted.groups.append(value)
        elif name.startswith(_EXTRA_PREFIX):
            wanted.extra.setdefault(unquote(name.removeprefix(_EXTRA_PREFIX)), []).append(value)
    if not wanted.name and not wanted.name_only:
        raise bad_request(f"requested {wanted} without impersonating a user name")
    return wanted if wanted.name else None


def impersonated(requester: User, wanted: Wanted, access: Access, check: Check, *, modes: bool) -> User:
    """Decide which user a request by ``requester`` for ``access`` acts as.

    ``check`` raises the 403 of a request that is not allowed; ``modes`` says whether constrained impersonation is on.

    Raises:
        StatusError: 403 if the requester may not impersonate ``wanted``.
    """
    first: StatusError | None = None
    for mode in _modes(requester, wanted) if modes else ():
        try:
            return _Narrow(requester, wanted, mode, check).user(access)
        except StatusError as refusal:
            first = first or refusal
    try:
        return _Broad(requester, wanted, "", check).user(access)
    except StatusError as refusal:
        raise first or refusal from None


def _modes(requester: User, wanted: Wanted) -> list[str]:
    node, account = node_of(wanted.name), account_of(wanted.name)
    if node is not None:
        if not wanted.name_only:
            return []
        return ["associated-node", "arbitrary-node"] if bound_node(requester) == node else ["arbitrary-node"]
    if account is not None:
        return ["serviceaccount"] if wanted.name_only else []
    return ["user-info"]


class _Broad:
    """Impersonation as of old: by the verb ``impersonate`` on every user, group and extra value."""

    group = ""

    def __init__(self, requester: User, wanted: Wanted, mode: str, check: Check) -> None:
        self._requester, self._wanted, self._check = requester, wanted, check
        self._mode = mode
        self._verb = f"impersonate:{mode}" if mode else "impersonate"

    def user(self, access: Access) -> User:
        """Check every part of the impersonation, and return the user that the request acts as."""
        wanted = self._wanted
        groups = self._check_name()
        if wanted.uid:
            self._check(self._on("uids", wanted.uid, group=_GROUP))
        self._check_groups()
        self._check_extra()
        if wanted.name == ANONYMOUS.name and UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
        extra = {key: tuple(values) for key, values in wanted.extra.items()}
        return authenticated(User(wanted.name, wanted.uid, groups, extra))

    def _on(self, resource: str, name: str, *, group: str, namespace: str = "", subresource: str = "") -> Access:
        return Access(self._requester, self._verb, group, resource, subresource, namespace, name)

    def _check_name(self) -> tuple[str, ...]:
        wanted, groups = self._wanted, tuple(self._wanted.groups)
        account = account_of(wanted.name)
        if account is None:
            self._check(self._on("users", wanted.name, group=self.group))
            return groups
        namespace, name = account
        self._check(self._on("serviceaccounts", name, group=self.group, namespace=namespace))
        return groups or account_groups(namespace)

    def _check_groups(self) -> None:
        for group in self._wanted.groups:
            self._check(self._on("groups", group, group=self.group))

    def _check_extra(self) -> None:
        for key, values in self._wanted.extra.items():
            for value in values:
                self._check(self._on("userextras", value, group=_GROUP, subresource=key))


class _Narrow(_Broad):
    """Constrained impersonation: ``impersonate:MODE``, and ``impersonate-on:MODE:VERB`` on what is to be done."""

    group = _GROUP

    def user(self, access: Access) -> User:
        """Check that this mode may be used for the access, and return the user that the request acts as."""
        self._check(replace(access, verb=f"impersonate-on:{self._mode}:{access.verb}"))
        return super().user(access)

    def _check_name(self) -> tuple[str, ...]:
        node = node_of(self._wanted.name)
        if node is None:
            return super()._check_name()
        # The node is the one that the requester's token is bound to, so its name does not matter.
        name = "*" if self._mode == "associated-node" else node
        self._check(self._on("nodes", name, group=self.group))
        return (NODES,)

    def _check_groups(self) -> None:
        groups = self._wanted.groups
        if "" in groups:
            raise self._on("groups", "", group=self.group).refusal(
                "impersonating the empty string group is not allowed"
            )
        if MASTERS in groups:
            raise self._on("groups", MASTERS, group=self.group).refusal(
                "impersonating the system:masters group is not allowed"
            )
        if len(groups) >= _MANY and self._allowed(self._on("groups", "*", group=self.group)):
            return
        super()._check_groups()

    def _check_extra(self) -> None:
        extra = self._wanted.extra
        if why := _fault(extra):
            raise self._on("userextras", "", group=_GROUP).refusal(why)
        large = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
        if large and self._allowed(self._on("userextras", "*", group=_GROUP, subresource="*")):
            return
        super()._check_extra()

    def _allowed(self, access: Access) -> bool:
        try:
            self._check(access)
        except StatusError:
            return False
        return True


def _fault(extra: Mapping[str, list[str]]) -> str:
    """Find the first fault of extra fields; empty if there is none (validateExtra)."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if why := aggregated(f"extra.key: Invalid value: {fault}" for fault in _key_faults(key)):
            return f"impersonating an invalid key in extra is not allowed: {why}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_faults(key: str) -> Iterator[str]:
    """Report what is wrong with parts of a key (IsDomainPrefixedPath, k8s.io/apimachinery/pkg/util)."""
    host, _, path = key.partition("/")
    if not host or not path:
        yield f'{quote(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
        return
    for why in formats.dns_subdomain(host, "characters"):
        yield f"{quote(host)}: {why}"
    if not re.fullmatch(_PATH, path):
        yield f"{quote(path)}: Invalid path (regex used for validation is '{_PATH}')"
