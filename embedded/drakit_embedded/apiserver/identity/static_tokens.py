"""Bearer tokens from a file, as kube-apiserver's --token-auth-file has them.

After k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go.
"""

from __future__ import annotations

import csv
from pathlib import Path

from drakit_embedded.apiserver.identity.users import User, authenticated

_LEAST_COLUMNS = 3


class TokenFileError(Exception):
    """The file cannot be used; the message says where and why."""


def read(path: Path) -> dict[str, User]:
    """Read users by token from lines ``token,user,uid`` or ``token,user,uid,"group,group"``; no token, no user.

    Raises ``TokenFileError``, and ``OSError`` if the file cannot be read.
    """
    found: dict[str, User] = {}
    with path.open(newline="", encoding="utf-8") as file:
        try:
            rows = [row for row in csv.reader(file, skipinitialspace=True, strict=True) if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise TokenFileError(f"token file '{path}' cannot be read: {error}") from None
    for row in rows:
        if len(row) < _LEAST_COLUMNS:
            columns = "must have at least 3 columns (token, user name, user uid)"
            raise TokenFileError(f"token file '{path}' {columns}, found {len(row)}")
        token, name, uid, *rest = row
        groups = tuple(rest[0].split(",")) if rest and rest[0] else ()
        if token:
            found[token] = authenticated(User(name, uid, groups))
    return found
