"""One request in the form that is recorded; its name is the request itself.

JSON is not named in it as the type of a body, but a type that is missing is: ``Content-Type: -``.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object

_HAVE_BODIES = {"POST", "PUT", "PATCH"}


def exchange(
    group: str,
    method: str,
    path: str,
    body: str | None = None,
    *,
    content_type: str | None = None,
    brief: bool = False,
    **headers: str,
) -> Object:
    """Without headers but those that are given; with ``brief``, of what is found only the kind is recorded."""
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    if content_type is not None:
        sent["Content-Type"] = content_type
    shown = [f"{key}: {value}" for key, value in sent.items() if value != "application/json" or key == "Accept"]
    if method in _HAVE_BODIES and content_type is None:
        shown.append("Content-Type: -")
    name = " ".join([f"{group}: {method} {path}", *shown, *([] if body is None else [body])])
    found: Object = {"name": name, "method": method, "path": path, "headers": sent, "body": body}
    return {**found, "brief": True} if brief else found
