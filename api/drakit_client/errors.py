"""What an API server answered when it refused a request, and how one fails that it did not answer or never got."""

from __future__ import annotations

from typing import Any

import aiohttp

_UNAUTHORIZED, _FORBIDDEN = 401, 403
# The server is away, or went away before it answered.
UNREACHABLE = (aiohttp.ClientError, OSError, TimeoutError)


class ConfigurationError(Exception):
    """A kubeconfig or a pod's service account does not say which API server, or not how to get in.

    The message names the file and the field.
    """


class UnreadableError(ConnectionError):
    """What the server answered is no JSON that can be read; it is as good as none."""


class ApiError(Exception):
    """A ``Status`` with ``status: Failure``; the subclasses are the reasons that callers handle differently."""

    def __init__(self, code: int, status: dict[str, Any]) -> None:
        self.code = code
        self.status = status
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "") or f"HTTP {code}"
        super().__init__(self.message)

    @property
    def is_forbidden(self) -> bool:
        """Whether whoever asked lacks a right."""
        return self.code == _FORBIDDEN

    @property
    def is_denied(self) -> bool:
        """Whether it is about who asked: that one lacks a right, or is not known."""
        return self.code in (_FORBIDDEN, _UNAUTHORIZED)

    @property
    def causes(self) -> list[dict[str, Any]]:
        """``details.causes``: one ``{reason, message, field}`` for each field at fault."""
        details = self.status.get("details") or {}
        causes: list[dict[str, Any]] = details.get("causes") or []
        return causes


# How any request can fail while nothing is wrong with whoever sent it: tell, and try again.
REQUEST_FAILURES = (ApiError, *UNREACHABLE)


class NotFound(ApiError):
    """404: the object, its namespace or its kind does not exist."""


class AlreadyExists(ApiError):
    """409 on create: an object of this name exists."""


class Conflict(ApiError):
    """409 on update or delete: the object changed since it was read, or a precondition failed."""


class Invalid(ApiError):
    """422: validation refused the object; see ``causes``."""


class Expired(ApiError):
    """410: the resourceVersion is too old to watch or continue from; list again."""


_BY_REASON = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Invalid": Invalid,
    "Expired": Expired,
    "Gone": Expired,
}
_BY_CODE = {404: NotFound, 409: Conflict, 410: Expired, 422: Invalid}


def api_error(code: int, status: dict[str, Any]) -> ApiError:
    """Make the error of a failed answer; its class is chosen by the reason, else by the HTTP code."""
    cls = _BY_REASON.get(status.get("reason", "")) or _BY_CODE.get(code) or ApiError
    return cls(code, status)
