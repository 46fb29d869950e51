"""The four programs of a control plane with the flags of a test cluster.

Flags are as few as a test cluster needs; what they are for stands beside them. Sources: the flag reference of each
component of Kubernetes 1.37, and ``etcd --help``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import yaml

from drakit_client.files import private_files
from drakit_kind.clusters import kubeconfig
from drakit_kind.clusters.flags import Behaviour, arguments
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.control_plane import probes
from drakit_kind.control_plane.authority import Authority, KeyPair
from drakit_kind.processes.ports import free_port
from drakit_kind.processes.process import Probe, ServerProcess
from drakit_kind.processes.slots import Access

ADMIN = "drakit-admin"
# kube-apiserver's own users of these components, so that they have just the rights that RBAC's defaults give them.
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"
_SERVICE_CIDR = "10.96.0.0/16"
# A test cluster's components wait for one another all the time; the defaults are made for thousands of nodes.
_QPS, _BURST = 1000, 2000


class Binaries(Protocol):
    """Where programs of one Kubernetes version are, see ``drakit_kind.kubernetes.assets``."""

    def path(self, name: str) -> Path:
        """Return the path of a program; raise ``ClusterError`` if it is missing."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What all programs of one control plane share; ``tokens`` are the bearer tokens, by user."""

    name: str
    home: ClusterHome
    authority: Authority
    access: Access
    tokens: Mapping[str, str]
    ended: Callable[[str], None]

    @property
    def port(self) -> int:
        """The API server's port on 127.0.0.1."""
        port = urlsplit(self.access.url).port
        assert port is not None
        return port

    def process(self, name: str, command: list[str], probe: Probe) -> ServerProcess:
        """Prepare a program of this control plane, with its log where ``drakit cluster logs`` finds it."""
        return ServerProcess(
            name,
            command,
            log=self.home.component_log(name),
            probe=probe,
            ended=self.ended,
        )

    def credential(self, name: str, content: bytes) -> Path:
        """Write a private file (0600) that a program reads at its start, and return its path."""
        return private_files.write(self.home.directory / "credentials" / name, content)

    def kubeconfig(self, user: str) -> Path:
        """Write a kubeconfig with the token of one user, and return its path."""
        entry = kubeconfig.entry(self.name, self.access.url, self.tokens[user], self.access.certificate)
        return self.credential(f"{user.removeprefix('system:')}.kubeconfig", yaml.safe_dump(entry).encode())


def etcd(site: Site, binaries: Binaries) -> ServerProcess:
    """Make etcd on a unix socket: on a TCP port, every user of the machine could read the cluster's secrets."""
    client, peer = f"unix://{_etcd_socket(site)}", f"unix://{site.home.directory}/etcd-peer.sock"
    flags = {
        "data-dir": site.home.directory / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "log-level": "warn",
    }
    # Without fsync a crash of the machine may cost a test cluster its data; with it, each write waits for the disk.
    command = [str(binaries.path("etcd")), *arguments(flags), "--unsafe-no-fsync"]
    return site.process("etcd", command, probes.unix(_etcd_socket(site), "/health"))


def _etcd_socket(site: Site) -> Path:
    return site.home.directory / "etcd.sock"


def kube_apiserver(
    site: Site, binaries: Binaries, behaviour: Behaviour, runtime_config: Mapping[str, str]
) -> ServerProcess:
    """Make kube-apiserver with RBAC, the Node authorizer and NodeRestriction, as clusters have it."""
    authority = site.authority
    serving = authority.issue("kube-apiserver", user="kube-apiserver", hosts=["127.0.0.1", "localhost", "kubernetes"])
    client = kubelet_client(authority)
    accounts = authority.signing_key("service-accounts")
    flags: dict[str, object] = {
        "etcd-servers": f"unix://{_etcd_socket(site)}",
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": site.port,
        # The address would be published to pods, which do not reach the loopback of this machine.
        "endpoint-reconciler-type": "none",
        "service-cluster-ip-range": _SERVICE_CIDR,
        "authorization-mode": "Node,RBAC",
        # Installers of clusters set this flag, and drivers that run in pods need it.
        "allow-privileged": "true",
        "enable-admission-plugins": "NodeRestriction",
        "client-ca-file": authority.certificate,
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "token-auth-file": token_file(site),
        "kubelet-client-certificate": client.certificate,
        "kubelet-client-key": client.key,
        "kubelet-preferred-address-types": "InternalIP,Hostname",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": accounts.certificate,
        "service-account-signing-key-file": accounts.key,
        # Tests start and stop watches all the time; nobody is served better by waiting for them at the end.
        "shutdown-send-retry-after": "true",
        **behaviour.flags(),
    }
    if runtime_config:
        flags["runtime-config"] = ",".join(f"{name}={value}" for name, value in runtime_config.items())
    command = [str(binaries.path("kube-apiserver")), *arguments(flags)]
    ready = probes.https(site.port, "/readyz", authority.certificate, token=site.tokens[ADMIN])
    return site.process("kube-apiserver", command, ready)


def kubelet_client(authority: Authority) -> KeyPair:
    """Issue an API server's certificate for kubelets, which let in anybody with one of the cluster's authority."""
    return authority.issue("kubelet-client", user="kube-apiserver", groups=["system:masters"])


def token_file(site: Site) -> Path:
    """Write the file of Kubernetes' static tokens, ``token,user,uid[,group]`` a line of CSV; return its path."""
    text = io.StringIO(newline="")
    groups = {ADMIN: ["system:masters"]}
    csv.writer(text, lineterminator="\n").writerows(
        [token, user, user, *groups.get(user, ())] for user, token in site.tokens.items()
    )
    return site.credential("tokens.csv", text.getvalue().encode())


def kube_controller_manager(site: Site, binaries: Binaries, behaviour: Behaviour) -> ServerProcess:
    """Make kube-controller-manager with its default controllers; ready when it has made them."""
    port = free_port()
    flags: dict[str, object] = {
        "kubeconfig": site.kubeconfig(CONTROLLER_MANAGER),
        "use-service-account-credentials": "true",
        "service-account-private-key-file": site.authority.signing_key("service-accounts").key,
        # The certificate that pods get in the ConfigMap kube-root-ca.crt.
        "root-ca-file": site.credential("root-ca.crt", site.access.certificate or b""),
        "kube-api-qps": _QPS,
        "kube-api-burst": _BURST,
        **_serving(site, "kube-controller-manager", port),
        **behaviour.flags(),
    }
    command = [str(binaries.path("kube-controller-manager")), "--leader-elect=false", *arguments(flags)]
    # It answers before its controllers are made, and ends if the API server goes away meanwhile.
    healthy = probes.https(port, "/healthz?verbose", site.authority.certificate, saying="resourceclaim-controller")
    return site.process("kube-controller-manager", command, healthy)


def kube_scheduler(site: Site, binaries: Binaries, behaviour: Behaviour) -> ServerProcess:
    """Make kube-scheduler with its default profile; ready when it has seen all that it watches."""
    port = free_port()
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(site.kubeconfig(SCHEDULER)), "qps": _QPS, "burst": _BURST},
        "leaderElection": {"leaderElect": False},
    }
    path = site.credential("kube-scheduler.yaml", yaml.safe_dump(configuration).encode())
    flags: dict[str, object] = {"config": path, **_serving(site, "kube-scheduler", port), **behaviour.flags()}
    command = [str(binaries.path("kube-scheduler")), *arguments(flags)]
    return site.process("kube-scheduler", command, probes.https(port, "/readyz", site.authority.certificate))


def _serving(site: Site, name: str, port: int) -> dict[str, object]:
    """Return the settings of a health port on loopback that uses a certificate of the cluster."""
    pair = site.authority.issue(name, user=name, hosts=["127.0.0.1", "localhost"])
    return {
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "tls-cert-file": pair.certificate,
        "tls-private-key-file": pair.key,
    }
