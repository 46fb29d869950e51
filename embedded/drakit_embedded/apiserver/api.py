"""The state that one server's requests share; it has no module-level state, so several can run in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.chain import Admission
from drakit_embedded.apiserver.authorization.authorizer import Authorizer
from drakit_embedded.apiserver.identity.authenticator import Authenticator
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.kubelet_access import KubeletAccess
from drakit_embedded.apiserver.managedfields.managers import SERVER
from drakit_embedded.apiserver.managedfields.updates import Writer, track
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.storage.turns import Turns
from drakit_embedded.serving.background import Background

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates


@dataclass(slots=True, eq=False)
class Api:
    """Store, catalog, gates, who asks and who may do what.

    The rules of the registry see it as a ``Cluster``, the plugins of admission as a ``GuardedCluster``.
    """

    store: Store
    catalog: Catalog
    gates: FeatureGates
    # Credentials for requests to kubelets.
    kubelets: KubeletAccess = field(default_factory=KubeletAccess)
    admission: Admission = field(default_factory=Admission)
    # Users by static token.
    tokens: Mapping[str, User] = field(default_factory=dict)
    # Signs the tokens of service accounts.
    account_key: SigningKey = field(default_factory=SigningKey)
    # Whether clients may authenticate by a certificate.
    certificates: bool = False
    # Seconds within which the body of a request must have been sent.
    request_timeout: float = 60.0
    # Writes take turns; reads that take long run in the background.
    turns: Turns = field(default_factory=Turns)
    background: Background = field(default_factory=lambda: Background("drakit-reads"))
    authenticator: Authenticator = field(init=False)
    authorizer: Authorizer = field(init=False)

    def __post_init__(self) -> None:
        self.authenticator = Authenticator(self.store, self.tokens, self.account_key, certificates=self.certificates)
        self.authorizer = Authorizer(self.store, self.gates)

    def every(self, storage: str) -> Iterator[Object]:
        """Decode a copy of each object of a collection (``pods``, ``deviceclasses.resource.k8s.io``)."""
        for record in self.store.named(storage).select(None):
            yield record.object()

    def find(self, storage: str, namespace: str, name: str) -> Object | None:
        """Decode a copy of an object of the collection ``storage`` (``pods``, ``deviceclasses.resource.k8s.io``)."""
        record = self.store.named(storage).get(namespace, name)
        return record.object() if record is not None else None

    def equivalents(self, kind: Kind) -> Sequence[Kind]:
        """List the other kinds in which the objects of a kind are served."""
        return self.catalog.equivalents(kind)

    def own_fields(self, kind: Kind, made: Object) -> None:
        """Make the server the manager of an object that it creates beside another."""
        track(Writer(SERVER, kind), None, made)
