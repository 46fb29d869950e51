"""Who a request comes from: a client certificate, a static token, a service account's token, or nobody in particular.

After k8s.io/kubernetes/pkg/kubeapiserver/authenticator/config.go; and
k8s.io/apiserver/pkg/authentication/request/{x509/x509,bearertoken/bearertoken}.go.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from aiohttp import web

from drakit_embedded.apiserver.identity.account_tokens import ISSUER, AccountTokens, InvalidToken
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import ANONYMOUS, User, authenticated
from drakit_embedded.apiserver.statuses import unauthorized
from drakit_embedded.apiserver.storage.store import Store

_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_INVALID = "invalid bearer token"


class Reviewed(NamedTuple):
    """The outcome of a TokenReview."""

    user: User | None
    audiences: Sequence[str] = ()
    error: str = ""


class Authenticator:
    """The users of one server.

    ``tokens`` are the static ones; ``certificates`` whether clients may show a certificate (the TLS context has checked
    who signed it).
    """

    def __init__(
        self, store: Store, tokens: Mapping[str, User], key: SigningKey, *, certificates: bool = False
    ) -> None:
        self._tokens = dict(tokens)
        # By the whole header, as most requests have it. A dict compares hashes, so timing tells nothing of a token.
        self._headers = {f"Bearer {token}": user for token, user in tokens.items()}
        self._certificates = certificates
        self._shown: WeakKeyDictionary[ssl.SSLObject, User | Literal[False]] = WeakKeyDictionary()
        self.accounts = AccountTokens(store, key)

    def user(self, request: web.BaseRequest) -> User:
        """Find the user of a request; 401 for credentials that are not valid."""
        if self._certificates and (user := self._by_certificate(request)) is not None:
            return user
        header = request.headers.get("Authorization")
        if header is None:
            return ANONYMOUS
        user = self._headers.get(header)
        return user if user is not None else self._by_header(header)

    def _by_header(self, header: str) -> User:
        scheme, _, rest = header.strip().partition(" ")
        token = rest.partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return ANONYMOUS
        user = self.review(token, (ISSUER,)).user
        if user is None:
            raise unauthorized()
        return user

    def review(self, token: str, audiences: Sequence[str]) -> Reviewed:
        """Find whose a token is, if it is meant for one of the audiences."""
        user = self._tokens.get(token)
        if user is not None:
            # Static tokens have this server as their only audience.
            return Reviewed(user, [ISSUER]) if ISSUER in audiences else Reviewed(None, error=_INVALID)
        try:
            found = self.accounts.user(token, audiences)
        except InvalidToken as error:
            return Reviewed(None, error=f"[{_INVALID}, {error}]")
        return Reviewed(*found) if found is not None else Reviewed(None, error=_INVALID)

    def _by_certificate(self, request: web.BaseRequest) -> User | None:
        shown = request.get_extra_info("ssl_object")
        if shown is None:
            return None
        known = self._shown.get(shown)
        if known is None:
            known = self._shown[shown] = _of_certificate(shown) or False
        return known or None


def _of_certificate(shown: ssl.SSLObject) -> User | None:
    """Read the user from a client certificate: CN is the name (the last, as in Go's pkix.Name), O are the groups."""
    raw = shown.getpeercert(binary_form=True)
    if raw is None:
        return None
    decoded: dict[str, Any] = shown.getpeercert() or {}
    names = [pair for relative in decoded.get("subject", ()) for pair in relative]
    name = next((value for key, value in reversed(names) if key == "commonName"), "")
    if not name:
        return None
    groups = tuple(value for key, value in names if key == "organizationName")
    extra = {_CREDENTIAL: (f"X509SHA256={hashlib.sha256(raw).hexdigest()}",)}
    return authenticated(User(name, groups=groups, extra=extra))
