"""How one API server is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from drakit_api.features import FeatureGates
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.kubelet_access import KubeletAccess
from drakit_embedded.apiserver.scheme.stored_only import Part
from drakit_embedded.apiserver.storage.aging import INTERVAL_SECONDS


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The options of a server. By default it is in memory, on a free port, with a random token."""

    # 0 takes any free port; the server binds to 127.0.0.1 only.
    port: int = 0
    # The administrator's bearer token; None generates one, which ``Server.token`` returns.
    token: str | None = None
    # More users by their bearer tokens, each with the groups that it is in; and the same from a file, one
    # ``token,user,uid,"group,group"`` a line, as --token-auth-file.
    users: Mapping[str, User] = field(default_factory=dict)
    token_auth_file: Path | None = None
    # With TLS: clients may show a certificate signed by an authority in this PEM file, as --client-ca-file. Its CN is
    # the user, its Os are the groups.
    client_ca_file: Path | None = None
    # PEM of the RSA or P-256 key that signs service accounts' tokens; None makes one, kept beside the data file.
    service_account_key_file: Path | None = None
    # Path of the SQLite file; None keeps everything in memory.
    data_file: Path | None = None
    gates: FeatureGates = field(default_factory=FeatureGates)
    # The other parts of the cluster that are drakit's own: writing objects that they do not act on is warned of.
    beside: frozenset[Part] = frozenset()
    # As --runtime-config: {"resource.k8s.io/v1beta1": "true"}.
    runtime_config: Mapping[str, str] = field(default_factory=dict)
    # HTTPS: with the given certificate and key, or without them with a self-signed certificate.
    tls: bool = False
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    # Where the self-signed one is kept, of which new data files get a copy beside them; None makes one for each.
    certificate_directory: Path | None = None
    # A unix socket (0600) where the same API is served besides, without TLS: the handshakes of components that start
    # together would take longer than their start.
    socket: Path | None = None
    # Seconds within which a request must have been sent, as --request-timeout.
    request_timeout: float = 60.0
    # Every so many seconds lists expire of versions that are older than this; 0: never. As --etcd-compaction-interval.
    list_interval: float = INTERVAL_SECONDS
    # Credentials for fetching container logs from kubelets.
    kubelets: KubeletAccess = field(default_factory=KubeletAccess)
