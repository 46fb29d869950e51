"""The state that one server's requests share; it has no module-level state, so several can run in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from drakit_embedded.apiserver.admission.chain import Admission
from drakit_embedded.apiserver.authorization.authorizer import Authorizer
from drakit_embedded.apiserver.catalog import Catalog
from drakit_embedded.apiserver.identity.authenticator import Authenticator
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.storage.store import Object, Store

if TYPE_CHECKING:
    import ssl

    from drakit_api.features import FeatureGates


@dataclass(slots=True, eq=False)
class Api:
    """Store, catalog, gates, who asks and who may do what; the ``Cluster`` that the rules of the registry see."""

    store: Store
    catalog: Catalog
    gates: FeatureGates
    # The token for the kubelets' container logs; empty if there is none.
    kubelet_token: str = ""
    # How their ports are spoken to; False is https with whoever answers.
    kubelet_tls: ssl.SSLContext | Literal[False] = False
    admission: Admission = field(default_factory=Admission)
    # Static tokens and their users.
    tokens: Mapping[str, User] = field(default_factory=dict)
    # Signs the tokens of service accounts.
    account_key: SigningKey = field(default_factory=SigningKey)
    # Whether clients may show a certificate instead.
    certificates: bool = False
    authenticator: Authenticator = field(init=False)
    authorizer: Authorizer = field(init=False)

    def __post_init__(self) -> None:
        self.authenticator = Authenticator(self.store, self.tokens, self.account_key, certificates=self.certificates)
        self.authorizer = Authorizer(self.store, self.gates)

    def find(self, storage: str, namespace: str, name: str) -> Object | None:
        """A decoded copy of an object of the collection ``storage`` (``pods``, ``deviceclasses.resource.k8s.io``)."""
        record = self.store.named(storage).get(namespace, name)
        return record.object() if record is not None else None
