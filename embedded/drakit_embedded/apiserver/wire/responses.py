"""HTTP responses: JSON answers with their warnings, and the ``Status`` that tells of an error."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from aiohttp import web

from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import headers

_encode = msgspec.json.Encoder().encode
# Control characters, and halves of characters.
_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Limits in characters: of all warnings, and of each one beyond that.
_MOST_WARNED, _LONGEST_WARNING = 4096, 256


def answer(body: bytes, status: int = 200, warnings: Sequence[str] = ()) -> web.Response:
    """Build a JSON answer that ends with a line break; clients show the ``warnings`` to their users."""
    if not body.endswith(b"\n"):
        body += b"\n"
    response = web.Response(body=body, status=status, headers=headers.JSON)
    warn(response, warnings)
    return response


def refusal(error: StatusError) -> web.Response:
    """Build the answer for an error."""
    response = answer(_encode(error.status()), error.code, error.warnings)
    response.headers.update(error.headers)
    return response


def warn(response: web.StreamResponse, warnings: Sequence[str]) -> None:
    """Add Warning headers to an answer (RFC 7234, code 299; k8s.io/apimachinery/pkg/util/net/http.go)."""
    for warning in _short(warnings):
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')


def _short(warnings: Sequence[str]) -> list[str]:
    """Drop repeated warnings and, if they are long together, all but the beginnings of the first ones.

    k8s.io/apiserver/pkg/endpoints/filters/warning.go: clients have limits for headers. Those that no header can hold,
    which webhooks may send, are dropped, too.
    """
    texts = [text for text in dict.fromkeys(warnings) if text and _UNSENDABLE.search(text) is None]
    if sum(map(len, texts)) <= _MOST_WARNED:
        return texts
    found, written = [], 0
    for text in texts:
        if written >= _MOST_WARNED:
            break
        found.append(text[:_LONGEST_WARNING])
        written += len(found[-1])
    return found
