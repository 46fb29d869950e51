"""What makes the probes and hooks of a container valid.

After validateProbe, validateHandler and validateLifecycle in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import re

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import Errors, forbidden, invalid, not_supported, required

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES = ("HTTP", "HTTPS")
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_WRONG_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PORT_NAME = re.compile(r"[-a-z0-9]+")
_LONGEST_PORT_NAME = 15
_HIGHEST_PORT = 65535


def probes_and_hooks(container: Object, path: str, spec: Object) -> Errors:
    """Validate ``lifecycle``, ``livenessProbe``, ``readinessProbe`` and ``startupProbe``."""
    if lifecycle := container.get("lifecycle"):
        yield from _lifecycle(lifecycle, f"{path}.lifecycle", spec)
    for sort in PROBES:
        if (probe := container.get(sort)) is not None:
            at = f"{path}.{sort}"
            yield from _probe(probe, at)
            if sort == "readinessProbe":
                if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
                    detail = "must not be set for readinessProbes"
                    yield invalid(f"{at}.terminationGracePeriodSeconds", grace, detail)
            elif probe["successThreshold"] != 1:
                yield invalid(f"{at}.successThreshold", probe["successThreshold"], "must be 1")


def port_number(number: int, path: str) -> Errors:
    """Validate the number of a port (IsValidPortNum)."""
    if not 1 <= number <= _HIGHEST_PORT:
        yield invalid(path, number, f"must be between 1 and {_HIGHEST_PORT}, inclusive")


def port_name(name: str, path: str) -> Errors:
    """Validate the name of a port (IsValidPortName)."""
    if len(name.encode()) > _LONGEST_PORT_NAME:
        yield invalid(path, name, f"must be no more than {_LONGEST_PORT_NAME} characters")
    if not _PORT_NAME.fullmatch(name):
        yield invalid(path, name, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in name):
        yield invalid(path, name, "must contain at least one letter (a-z)")
    if "--" in name:
        yield invalid(path, name, "must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        yield invalid(path, name, "must not begin or end with a hyphen")


def _probe(probe: Object, path: str) -> Errors:
    yield from _handler(probe, path, 0)
    for number in _NUMBERS:
        if (probe.get(number) or 0) < 0:
            yield invalid(f"{path}.{number}", probe[number], "must be greater than or equal to 0")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _lifecycle(lifecycle: Object, path: str, spec: Object) -> Errors:
    for hook in ("postStart", "preStop"):
        if (handler := lifecycle.get(hook)) is not None:
            yield from _handler(handler, f"{path}.{hook}", spec["terminationGracePeriodSeconds"])


def _handler(handler: Object, path: str, grace: int) -> Errors:
    """Validate the one handler that there must be; ``grace`` is the longest that it may sleep, in seconds."""
    given = [sort for sort in _HANDLERS if handler.get(sort) is not None]
    for sort in given[1:]:
        yield forbidden(f"{path}.{sort}", "may not specify more than 1 handler type")
    if not given:
        yield required(path, "must specify a handler type")
        return
    sort = given[0]
    action, at = handler[sort], f"{path}.{sort}"
    match sort:
        case "exec":
            if not action.get("command"):
                yield required(f"{at}.command")
        case "httpGet":
            yield from _http_get(action, at)
        case "tcpSocket":
            yield from _port(action.get("port", 0), f"{at}.port")
        case "grpc":
            yield from port_number(action.get("port") or 0, f"{at}.port")
        case "sleep":
            seconds = action.get("seconds") or 0
            if not 0 <= seconds <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid(at, seconds, detail)


def _http_get(action: Object, path: str) -> Errors:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from _port(action.get("port", 0), f"{path}.port")
    if action.get("scheme") not in _SCHEMES:
        yield not_supported(f"{path}.scheme", action.get("scheme") or "", _SCHEMES)
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        if not _HEADER.fullmatch(name):
            yield invalid(f"{path}.httpHeaders", name, _WRONG_HEADER)


def _port(port: int | str, path: str) -> Errors:
    yield from port_name(port, path) if isinstance(port, str) else port_number(port, path)
