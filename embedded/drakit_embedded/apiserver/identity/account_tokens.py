"""Tokens of service accounts: what TokenRequest hands out, and who comes with one.

A token names its account and, if it is bound to one, a pod, node or secret, each with UID: it ends when one of them
does.
After k8s.io/kubernetes/pkg/serviceaccount/claims.go and pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from drakit_api.golang import gotime
from drakit_api.golang.gostrings import quoted
from drakit_embedded.apiserver.identity.jwt import Claims, SigningKey
from drakit_embedded.apiserver.identity.users import User, account_groups, account_name, authenticated
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.storage.store import Record, Store

ISSUER = "https://kubernetes.default.svc"
_PRIVATE = "kubernetes.io"
_EXTRA = "authentication.kubernetes.io/"
# What kubelets ask for, and what their pods get for it, so that old clients that never read a token again keep working.
WARNED_SECONDS = 3607
_EXTENDED_SECONDS = 365 * 24 * 3600
# Tolerated difference of clocks (gopkg.in/go-jose/go-jose jwt.DefaultLeeway).
_LEEWAY = 60
_REMEMBERED = 1000
# The collection of each kind of object that a token can be bound to.
_BOUND = {"secret": "secrets", "pod": "pods", "node": "nodes"}


class InvalidToken(Exception):
    """A token of this server that is not valid (any more); the message is for TokenReview."""


class AccountTokens:
    """Signs tokens of service accounts, and finds the user of a token."""

    def __init__(self, store: Store, key: SigningKey) -> None:
        self._store, self._key = store, key
        # A signature is checked once; the objects that the claims name are looked up each time.
        self._verified: dict[str, Claims] = {}

    def issue(self, account: Record, bound: dict[str, Record | str], audiences: Sequence[str], seconds: int) -> str:
        """Sign a token for ``seconds``, bound to objects by kind (``pod``); a missing node is given by its name."""
        now = int(time.time())
        private: dict[str, Any] = {
            "namespace": account.key[0],
            "serviceaccount": {"name": account.key[1], "uid": account.uid},
            **{kind: _reference(found) for kind, found in bound.items()},
        }
        lifetime = seconds
        if seconds == WARNED_SECONDS and "pod" in bound and list(audiences) == [ISSUER]:
            private["warnafter"] = now + seconds
            lifetime = _EXTENDED_SECONDS
        return self._key.sign(
            {
                "aud": list(audiences),
                "exp": now + lifetime,
                "iat": now,
                "iss": ISSUER,
                "jti": metadata.new_uid(),
                _PRIVATE: private,
                "nbf": now,
                "sub": account_name(*account.key),
            }
        )

    def user(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[User, list[str]] | None:
        """Find whose a token is, and for which of the audiences; None if it is none of ours.

        Raises:
            InvalidToken: if it is ours and not valid (any more).
        """
        claims = self._claims(token)
        if claims is None or claims.get("iss") != ISSUER:
            return None
        meant = [audience for audience in audiences if audience in claims["aud"]]
        if not meant:
            given, wanted = quoted(claims["aud"]), quoted(audiences)
            raise InvalidToken(f"token audiences {given} is invalid for the target audiences {wanted}")
        self._check_time(claims)
        private = claims[_PRIVATE]
        self._check_account(private)
        for kind, storage in _BOUND.items():
            if kind in private and not (kind == "node" and "pod" in private):
                self._check_bound(private, kind, storage)
        return _user(claims), meant

    def _claims(self, token: str) -> Claims | None:
        claims = self._verified.get(token)
        if claims is None:
            # Return early for what cannot be a token, without importing the library.
            claims = self._key.verified(token) if token.count(".") == 2 and token.startswith("ey") else None
            if claims is not None:
                if len(self._verified) >= _REMEMBERED:
                    self._verified.clear()
                self._verified[token] = claims
        return claims

    def _check_time(self, claims: Claims) -> None:
        now = time.time()
        if now - _LEEWAY > claims["exp"]:
            raise InvalidToken("service account token has expired")
        if now + _LEEWAY < claims["nbf"]:
            raise InvalidToken("service account token is not valid yet")

    def _check_account(self, private: Claims) -> None:
        namespace, account = private["namespace"], private["serviceaccount"]
        record = self._store.named("serviceaccounts").get(namespace, account["name"])
        if record is None:
            raise InvalidToken(f'serviceaccounts "{account["name"]}" not found')
        if record.uid != account["uid"]:
            raise InvalidToken(f"service account UID ({record.uid}) does not match claim ({account['uid']})")
        if _long_deleted(record):
            raise InvalidToken(f"service account {namespace}/{account['name']} has been deleted")

    def _check_bound(self, private: Claims, kind: str, storage: str) -> None:
        namespace, reference = "" if kind == "node" else private["namespace"], private[kind]
        record = self._store.named(storage).get(namespace, reference["name"])
        if record is None:
            raise InvalidToken("service account token has been invalidated")
        if record.uid != reference.get("uid"):
            raise InvalidToken(
                f"{kind} UID ({record.uid}) does not match service account {kind} ref claim ({reference.get('uid')})"
            )
        if _long_deleted(record):
            raise InvalidToken("service account token has been invalidated")


def _reference(found: Record | str) -> dict[str, str]:
    return {"name": found} if isinstance(found, str) else {"name": found.key[1], "uid": found.uid}


def _long_deleted(record: Record) -> bool:
    """Check whether an object should have gone by now."""
    if b'"deletionTimestamp"' not in record.body:
        return False
    deleted = record.object()["metadata"].get("deletionTimestamp")
    return bool(deleted) and gotime.seconds(deleted) < time.time() - _LEEWAY


def _user(claims: Claims) -> User:
    private = claims[_PRIVATE]
    account = private["serviceaccount"]
    extra = {_EXTRA + "credential-id": (f"JTI={claims['jti']}",)}
    for kind in ("pod", "node"):
        reference = private.get(kind) or {}
        for field in ("name", "uid"):
            if reference.get(field):
                extra[f"{_EXTRA}{kind}-{field}"] = (reference[field],)
    name, groups = account_name(private["namespace"], account["name"]), account_groups(private["namespace"])
    return authenticated(User(name, account["uid"], groups, extra))
