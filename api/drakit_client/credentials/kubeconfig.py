"""Kubeconfigs with static credentials, which nearly all are, read without the official client.

A well-kept library beats our own code, and the official client is one; but importing it takes 0.4 CPU seconds, a third
of a driver's start, and a test session starts many components. It also writes inline keys to files in $TMPDIR, which
stay there when the process is killed. So this takes a kubeconfig that it understands to the last field, and leaves
every other one (exec plugins, auth providers, passwords, several files, fields it has never heard of) to the official
client.

Source: client-go, tools/clientcmd (what is valid, which field wins) and its api/v1/types.go (the fields).
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drakit_client.credentials.access import Access, TokenFile, content, show, trusting
from drakit_client.errors import ConfigurationError

_TOP = {"apiVersion", "kind", "preferences", "clusters", "users", "contexts", "current-context", "extensions"}
_CONTEXT = {"cluster", "user", "namespace", "extensions"}
_CLUSTER = {
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "extensions",
}
_USER = {
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "extensions",
}
# What no connection of ours can do; passed over, it would act as somebody else, or go where it should not.
_IMPERSONATION = "asks for impersonation, which drakit cannot do; give the credentials of that user"
_NOT_IN_USERS = dict.fromkeys(("as", "as-uid", "as-groups", "as-user-extra"), _IMPERSONATION)
_NOT_IN_CLUSTERS = {
    "proxy-url": "asks for a proxy, which drakit cannot use; name a server that can be reached directly"
}
_DEFAULT = "~/.kube/config"


def files(path: str | Path | None) -> list[Path]:
    """List the files of a kubeconfig: ``path``, or else those of ``$KUBECONFIG``, or else ``~/.kube/config``."""
    named = str(path) if path else os.environ.get("KUBECONFIG") or _DEFAULT
    return [_expanded(Path(part)) for part in named.split(os.pathsep) if part]


def _expanded(file: Path) -> Path:
    try:
        return file.expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"{file}: there is no home directory") from error


def read(path: str | Path | None = None, context: str | None = None) -> Access | None:
    """Read a context (the current one by default) of a kubeconfig; None if only the official client can.

    Raises ``ConfigurationError``, which names the file and the field, for one that nobody can read.
    """
    if len(named := files(path)) != 1:
        return None
    top = _load(named[0], is_default=not path and not os.environ.get("KUBECONFIG"))
    chosen = context or top.text("current-context")
    if not chosen:
        raise top.wrong("current-context", "is not set; name a context")
    of_context = top.entry("contexts", "context", chosen)
    if not (cluster_name := of_context.text("cluster")):
        raise of_context.wrong("cluster", "is not set")
    cluster = top.entry("clusters", "cluster", cluster_name)
    user_name = of_context.text("user")
    user = top.entry("users", "user", user_name) if user_name else _Fields(top.file, "users", {})
    _refuse(cluster, _NOT_IN_CLUSTERS)
    _refuse(user, _NOT_IN_USERS)
    known = ((top, _TOP), (of_context, _CONTEXT), (cluster, _CLUSTER), (user, _USER))
    # Clients differ in which of two tokens they use.
    if any(fields.values.keys() - names for fields, names in known) or {"token", "tokenFile"} <= user.values.keys():
        return None
    return _access(cluster, user)


def _refuse(fields: _Fields, what: Mapping[str, str]) -> None:
    for field in sorted(fields.values.keys() & what.keys()):
        raise fields.wrong(field, what[field])


@dataclass(frozen=True)
class _Fields:
    """The fields of one object, and where it is. One with an empty value is as good as not there, as in Go."""

    file: Path
    place: str
    values: dict[str, Any]

    def wrong(self, field: str, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.file}: {self.place}{'.' if self.place else ''}{field} {problem}")

    def text(self, field: str) -> str | None:
        value = self.values.get(field)
        if value is None or isinstance(value, str):
            return value
        raise self.wrong(field, "must be text; put it in quotes")

    def flag(self, field: str) -> bool:
        value = self.values.get(field, False)
        if isinstance(value, bool):
            return value
        raise self.wrong(field, "must be true or false, without quotes")

    def path(self, field: str) -> Path | None:
        """Resolve a path, relative to the kubeconfig; ``..`` goes back by name, as for kubectl, not through links."""
        if (value := self.text(field)) is None:
            return None
        return Path(os.path.normpath(self.file.absolute().parent / value))

    def pem(self, field: str) -> bytes | None:
        """Return what is in FIELD-data, or else in the file that FIELD names; None if neither is set."""
        if (data := self.text(f"{field}-data")) is None:
            path = self.path(field)
            return content(path, f"{self.file}: {self.place}.{field}") if path else None
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except ValueError as error:
            problem = f"is not base64 ({error}); to name a file, write {field}"
            raise self.wrong(f"{field}-data", problem) from error

    def used(self, field: str) -> str:
        """Name the field that ``pem`` read: FIELD-data or FIELD."""
        return f"{field}-data" if f"{field}-data" in self.values else field

    def entry(self, listed: str, kind: str, name: str) -> _Fields:
        """Return the first entry of a list that has this name, which is the one that counts."""
        entries = self.values.get(listed, [])
        if not isinstance(entries, list):
            raise self.wrong(listed, "must be a list")
        for entry in entries:
            if not isinstance(entry, dict):
                raise self.wrong(listed, "must be a list of objects with a name")
            if entry.get("name") != name:
                continue
            fields = entry.get(kind) or {}
            if not isinstance(fields, dict):
                raise self.wrong(f"{listed}[{name}].{kind}", "must be an object with fields")
            return _Fields(self.file, f"{listed}[{name}].{kind}", _set(fields))
        there = ", ".join(str(entry["name"]) for entry in entries if "name" in entry) or "none"
        raise self.wrong(listed, f"has no {name!r}; there is {there}")


def _set(fields: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        str(field): value
        for field, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


def _load(file: Path, *, is_default: bool) -> _Fields:
    # Imported here: components that are given a URL need not pay for it, and one of them is the API server's process.
    import yaml

    try:
        loaded = yaml.safe_load(file.read_bytes())
    except FileNotFoundError as error:
        why = " (the default, as $KUBECONFIG is not set)" if is_default else ""
        raise ConfigurationError(f"{file}: there is no such file{why}") from error
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The error says where, but does not quote the line, which may be a secret.
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or "not text"
        raise ConfigurationError(f"{file}: not YAML: {where}{problem}") from error
    if not isinstance(loaded, dict):
        raise ConfigurationError(f"{file}: not a kubeconfig: it must have clusters, users and contexts")
    return _Fields(file, "", _set(loaded))


def _access(cluster: _Fields, user: _Fields) -> Access:
    server = cluster.text("server")
    if not server:
        raise cluster.wrong("server", "is not set; it is the URL of the API server")
    if not server.startswith(("https://", "http://")):
        raise cluster.wrong("server", f"is {server!r}; it must begin with https:// or http://")
    token: str | TokenFile | None = user.text("token")
    if (token_file := user.path("tokenFile")) is not None:
        token = TokenFile(token_file, f"{user.file}: {user.place}.tokenFile")
    # Without TLS nobody looks at certificates, so they need not be readable.
    tls = _tls(cluster, user) if server.startswith("https:") else None
    return Access(server.rstrip("/"), token, tls, cluster.text("tls-server-name"))


def _tls(cluster: _Fields, user: _Fields) -> ssl.SSLContext:
    verify = not cluster.flag("insecure-skip-tls-verify")
    try:
        context = trusting(cluster.pem("certificate-authority"), verify=verify)
    except (ssl.SSLError, ValueError) as error:
        used = cluster.used("certificate-authority")
        raise cluster.wrong(used, f"is no certificate in PEM form ({error})") from error
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if certificate is None and key is not None:
        raise user.wrong("client-certificate", f"is not set, but {user.used('client-key')} is")
    if certificate is not None:
        try:
            show(context, certificate, key)
        except (ssl.SSLError, ValueError) as error:
            used = user.used("client-certificate")
            problem = f"and {user.used('client-key')} must be a certificate and its key in PEM form ({error})"
            raise user.wrong(used, problem) from error
    return context
