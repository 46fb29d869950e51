"""/healthz, /livez and /readyz, whole and check by check.

After k8s.io/apiserver pkg/server/healthz/healthz.go. The checks have the names of kube-apiserver's, because probes ask
for single ones and leave others out by name. What they stand for is done here before the first request is answered, or
does not exist; so whoever gets an answer gets "ok".
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from drakit_embedded.apiserver.wire import headers

_STARTED = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "autoregister-completion",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
)
# The only one of these that is not a post-start hook.
_NO_HOOK = "autoregister-completion"
_HOOKS = tuple(name if name == _NO_HOOK else f"poststarthook/{name}" for name in _STARTED)
_ALIVE = ("ping", "log", "loopback-serving-certificate", "etcd", *_HOOKS)
CHECKS = {
    "healthz": _ALIVE,
    "livez": _ALIVE,
    "readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_HOOKS, "shutdown"),
}


def answer(endpoint: str, *, verbose: bool, excluded: Sequence[str]) -> web.Response:
    """Answer with all checks but the excluded ones: "ok" or, when ``verbose``, a line for each."""
    if not verbose:
        return web.Response(text="ok", headers=headers.TEXT)
    names = CHECKS[endpoint]
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in names]
    unknown = sorted(f'"{name}"' for name in set(excluded) if name not in names)
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
    lines.append(f"{endpoint} check passed")
    return web.Response(text="\n".join(lines) + "\n", headers=headers.TEXT)


def single() -> web.Response:
    """Answer ``ok`` for a check that is asked for alone."""
    sent = {key: value for key, value in headers.TEXT.items() if key != "X-Content-Type-Options"}
    return web.Response(text="ok", headers=sent)


def paths() -> list[str]:
    """List the paths of all health endpoints and their checks."""
    found = [f"/{endpoint}/{name}" for endpoint, names in CHECKS.items() for name in names]
    return [*found, *(f"/{endpoint}" for endpoint in CHECKS)]
