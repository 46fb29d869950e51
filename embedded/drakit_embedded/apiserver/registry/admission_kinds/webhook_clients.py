"""How a webhook is called: by URL, or by a reference to a Service (k8s.io/apiserver/pkg/util/webhook/validation.go)."""

from __future__ import annotations

from drakit_api import formats
from drakit_api.golang import gourls
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, invalid, required

_FORM = "; desired format: https://host[/path]"
_MOST_PORT = 65535


def client_config(client: Object, path: str) -> Errors:
    """Check that a webhook has a URL or a Service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    elif service is not None:
        yield from _service(service, f"{path}.service")


def _url(text: str, path: str) -> Errors:
    try:
        url = gourls.parse(text)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield invalid(path, url.host, f"host must be specified{_FORM}")
    if url.user is not None:
        yield invalid(path, url.user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: Object, path: str) -> Errors:
    # Upstream passes name and namespace in the wrong order, so that each is missed by the other's name.
    for field, missed in (("namespace", "name"), ("name", "namespace")):
        if not service.get(missed):
            yield required(f"{path}.{field}")
    port = service.get("port") or 0
    if not 1 <= port <= _MOST_PORT:
        yield invalid(f"{path}.port", port, f"port is not valid: must be between 1 and {_MOST_PORT}, inclusive")
    yield from _path(service.get("path") or "", f"{path}.path")


def _path(text: str, path: str) -> Errors:
    if text in ("", "/"):
        return
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        problems = (
            [f": {problem}" for problem in formats.dns_subdomain(step, "characters")] if step else [" may not be empty"]
        )
        yield from (invalid(path, text, f"segment[{index}]{problem}") for problem in problems)
