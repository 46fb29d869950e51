"""What a test cluster is asked to be, and what is wrong with such a wish; ``clusters.lifecycle`` has the cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from drakit_api import formats, limits

Component = Literal["apiserver", "controllers", "scheduler", "kubelet"]
DeviceHealth = Literal["Healthy", "Unhealthy", "Unknown"]
COMPONENTS: tuple[Component, ...] = get_args(Component)

KUBERNETES_VERSION = "1.37.1"

_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
# A kubelet's certificate is for system:node:NAME, and a common name has 64 letters (X.520, ub-common-name).
_REAL_NODE_NAME_LENGTH = 52

# Called with each step that takes long.
Report = Callable[[str], None]


def silent(text: str) -> None:
    """Ignore the text: a ``Report`` that nobody reads."""


class ClusterError(Exception):
    """A cluster that could not be started, reached or changed; the message says which and what to do."""


@contextmanager
def cleaning_up_after(error: BaseException) -> Iterator[None]:
    """Turn an exception in this block into a note of ``error``, which is the one that matters."""
    try:
        yield
    except Exception as another:
        error.add_note(f"cleaning up failed too: {another}")


def with_notes(error: BaseException, text: str | None = None) -> str:
    """Return an error's message, or ``text`` instead, followed by its notes, one a line."""
    return "\n".join([str(error) if text is None else text, *getattr(error, "__notes__", ())])


@dataclass(frozen=True, kw_only=True)
class DriverSpec:
    """One driver instance: a profile of ``drakit driver profiles`` on some nodes.

    ``name`` is the DRA driver name; None is the profile's own, e.g. ``gpu.nvidia.com``. Instances with names of their
    own do not see each other's devices, which is how parallel tests share nodes. ``gpus`` are those of each node (None
    is the profile's own number), ``layout`` is the file of the profile ``layout``, ``plugin_versions`` are services of
    the kubelet's plugin API (none named: all), ``gates`` are feature gates of the driver.
    """

    profile: str
    nodes: Sequence[str]
    name: str | None = None
    gpus: int | None = None
    layout: str | None = None
    plugin_versions: Sequence[str] = ()
    gates: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """What to start.

    ``version`` is what the components are (``versions`` names those that are another one), ``emulated_version`` what
    they behave like; None is each one's own. ``real`` are the components that are Kubernetes' own programs, taken from
    ``kubernetes_dir`` or from drakit's cache; the others are ours. One of ours behaves like the minor version of the
    version it is said to be. ``port`` is the API server's on 127.0.0.1 (0: a free one); ``token`` (None: a random one)
    and ``tls`` are of clusters that one process on this machine supervises.
    """

    name: str = "default"
    version: str = KUBERNETES_VERSION
    versions: Mapping[Component, str] = field(default_factory=dict)
    emulated_version: str | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    nodes: Sequence[str] = ()
    drivers: Sequence[DriverSpec] = ()
    real: frozenset[Component] = frozenset()
    kubernetes_dir: str | None = None
    scheduler: bool = True
    port: int = 0
    token: str | None = None
    # kubectl and client-go send no bearer token over plain HTTP.
    tls: bool = True
    waits_times: float | None = None

    def version_of(self, component: Component) -> str:
        """Return the Kubernetes version of one component, e.g. "1.37.1"."""
        return self.versions.get(component, self.version)

    def behaves_as(self, component: Component) -> str:
        """Return the minor version that a component behaves like, e.g. "1.36"."""
        return self.emulated_version or minor_version(self.version_of(component))

    @property
    def driven_nodes(self) -> int:
        """How many nodes drivers run on; one with two drivers counts twice."""
        return sum(len(driver.nodes) for driver in self.drivers)

    @property
    def patience(self) -> float:
        """How many times as long as in an embedded cluster things may take; ``waits_times`` where it is set."""
        if self.waits_times is not None:
            return self.waits_times
        return 4.0 if "kubelet" in self.real else 2.0 if self.real else 1.0


def checked_name(name: str) -> str:
    """Return a valid cluster name, which becomes part of paths and URLs; raise ``ClusterError`` for any other."""
    if not _CLUSTER_NAME.fullmatch(name):
        raise ClusterError(
            f"cluster name {name!r}: use at most 40 lower case letters, digits and '-', starting and ending with a "
            "letter or digit"
        )
    return name


def check_names(spec: ClusterSpec) -> None:
    """Raise ``ClusterError`` for a name that a cluster or a node cannot have, and for drivers on nodes that are none.

    Node names become directories and control groups.
    """
    checked_name(spec.name)
    longest = _REAL_NODE_NAME_LENGTH if "kubelet" in spec.real else limits.DNS_SUBDOMAIN_LENGTH
    for name in spec.nodes:
        if formats.dns_subdomain(name) or len(name) > longest:
            raise ClusterError(
                f"node name {name!r}: use lower case letters, digits, '-' and '.', at most {longest} of them, with a "
                "letter or digit at the start, at the end and beside each dot"
            )
    if twice := [name for name, count in Counter(spec.nodes).items() if count > 1]:
        raise ClusterError(f"each node needs a name of its own: {in_short(twice)} more than once")
    for driver in spec.drivers:
        check_nodes(driver, spec)


def check_nodes(driver: DriverSpec, spec: ClusterSpec) -> None:
    """Raise ``ClusterError`` for a driver on no node, or on nodes that the cluster does not have."""
    if not driver.nodes:
        raise ClusterError(
            f"driver {driver.name or driver.profile}: it needs a node to run on; "
            f"this cluster has {in_short(spec.nodes) or 'none'}"
        )
    if unknown := sorted(set(driver.nodes) - set(spec.nodes)):
        raise ClusterError(
            f"driver {driver.name or driver.profile}: no node {', '.join(unknown)}; "
            f"this cluster has {in_short(spec.nodes) or 'none'}"
        )


def in_short(names: Sequence[str]) -> str:
    """Join names of nodes; of more than four, only the first, the last and how many."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} ... {names[-1]} ({len(names)} nodes)"


def tagged_version(image: str) -> str | None:
    """Return the version in the tag of a node image of kind: ``1.36.3`` of ``kindest/node:v1.36.3``; None if none."""
    tagged = re.search(r":v(\d+\.\d+\.\d+)", image)
    return tagged[1] if tagged else None


def minor_version(version: str) -> str:
    """Return "1.37" of "1.37.1"; raises ``ClusterError`` for what is no version."""
    matched = re.fullmatch(r"v?(\d+\.\d+)(\.\d+.*)?", version)
    if matched is None:
        raise ClusterError(f"Kubernetes version {version!r}: write it as 1.37.1")
    return matched[1]


class Driver(Protocol):
    """A running driver instance, as a process of its own (or a pod): it can be killed."""

    @property
    def name(self) -> str:
        """The DRA driver name."""

    def kill(self) -> None:
        """End it at once, without any clean-up, as a crash does."""

    def start(self) -> None:
        """Start it (again) and wait until it is registered with its kubelets and its slices are published."""

    def pause(self) -> None:
        """Let it hang in whatever it is doing, until it is killed."""

    def forget_registration(self) -> None:
        """Take away what a killed driver left of its registration, as a reboot of its nodes does."""

    def prepare_calls(self, uid: str) -> list[str]:
        """List the protocol version (``v1``) of each call that asked to prepare the claim with this UID."""

    def cdi_files(self, node: str) -> list[str]:
        """List the names of the CDI spec files that it has on a node now."""

    def set_health(self, pool: str, device: str, health: DeviceHealth, message: str = "") -> None:
        """Tell the kubelets that have this device of its health, from now on until the driver is started again.

        They show it in ``status.containerStatuses[].allocatedResourcesStatus`` of pods (gate ResourceHealthStatus).
        Raises ``ClusterError``, and changes nothing, for a device that it does not have, which names those that it has.
        """

    def stop(self) -> None:
        """End it in order; its slices and device classes go with it."""

    def logs(self) -> str:
        """Return the text that it has printed so far."""
