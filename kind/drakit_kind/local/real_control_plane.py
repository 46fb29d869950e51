"""The real components of one cluster's control plane, made as its supervising process asks for them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.control_plane import programs
from drakit_kind.control_plane.authority import Authority, KeyPair
from drakit_kind.control_plane.programs import ADMIN, CONTROLLER_MANAGER, SCHEDULER, Binaries, Site
from drakit_kind.processes.process import ServerProcess
from drakit_kind.processes.slots import Access, end_cluster

if TYPE_CHECKING:
    from drakit_kind.nodes.real_nodes import RealNodes

_USERS = (CONTROLLER_MANAGER, SCHEDULER)


@dataclass(frozen=True)
class Clients:
    """Real components as clients of our API server: users by token, and files of the client CA and the account key."""

    users: Mapping[str, str]
    authority: Path
    account_key: Path


def end_with_it(component: str, reason: str) -> None:
    """End this process, where nobody starts a component again."""
    end_cluster(f"{component}: {reason}")


class ControlPlane:
    """Makes the processes; ``binaries`` gives the programs of a version.

    ``ended`` is called with the name of a component that has ended by itself, and why.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        home: ClusterHome,
        binaries: Callable[[str], Binaries],
        ended: Callable[[str, str], None] = end_with_it,
    ) -> None:
        self._spec = spec
        self._ended = ended
        self._home = home
        self._binaries = binaries
        self.authority = Authority(home.pki)
        others = {user: secrets.token_urlsafe(32) for user in _USERS}
        self._tokens = {ADMIN: spec.token or secrets.token_urlsafe(32), **others}

    @property
    def access(self) -> Access:
        """How the real API server is reached, as an administrator."""
        port = self._spec.port
        return Access(f"https://127.0.0.1:{port}", self._tokens[ADMIN], self.authority.certificate.read_bytes())

    def etcd(self) -> ServerProcess:
        """Make the etcd of the real API server."""
        return programs.etcd(self.site("etcd", self.access), self._binaries(self._spec.version_of("apiserver")))

    def apiserver(self, behaviour: Behaviour) -> ServerProcess:
        """Make the kube-apiserver that stores its objects in ``etcd``."""
        binaries = self._binaries(behaviour.version)
        return programs.kube_apiserver(
            self.site("apiserver", self.access), binaries, behaviour, self._spec.runtime_config
        )

    def controllers(self, access: Access, behaviour: Behaviour) -> ServerProcess:
        """Make kube-controller-manager, for a real API server or ours."""
        site = self.site("controllers", access)
        return programs.kube_controller_manager(site, self._binaries(behaviour.version), behaviour)

    def scheduler(self, access: Access, behaviour: Behaviour) -> ServerProcess:
        """Make kube-scheduler, for a real API server or ours."""
        return programs.kube_scheduler(self.site("scheduler", access), self._binaries(behaviour.version), behaviour)

    def clients(self) -> Clients:
        """Return whom our API server must know, as kube-apiserver does by its flags."""
        return Clients(
            users={token: user for user, token in self._tokens.items() if user != ADMIN},
            authority=self.authority.certificate,
            account_key=self.authority.signing_key("service-accounts").key,
        )

    def kubelet_client(self) -> KeyPair:
        """Return the client certificate that drakit's API server shows to real kubelets; kube-apiserver has its own."""
        return programs.kubelet_client(self.authority)

    def nodes(self, access: Access, behaviour: Behaviour) -> RealNodes:
        """Make real kubelets with containers, for a real API server or ours."""
        from drakit_kind.nodes.credentials import NodeCredentials
        from drakit_kind.nodes.real_nodes import RealNodes

        return RealNodes(
            self._spec.nodes,
            self._home,
            behaviour,
            binaries=self._binaries,
            credentials=NodeCredentials(access, self.authority),
            connect=lambda: access.connect("nodes"),
            ended=partial(self._ended, "kubelet"),
            lost=end_cluster,
        )

    def site(self, component: str, access: Access) -> Site:
        """Make the settings that all programs of one ``component`` share, for the API server of ``access``."""
        return Site(
            name=f"drakit-{self._spec.name}",
            home=self._home,
            authority=self.authority,
            access=access,
            tokens=self._tokens,
            ended=partial(self._ended, component),
        )
