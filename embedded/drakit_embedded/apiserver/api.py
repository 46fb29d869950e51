"""The state that one server's requests share; it has no module-level state, so several can run in one process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from drakit_embedded.apiserver.admission.chain import Admission
from drakit_embedded.apiserver.catalog import Catalog
from drakit_embedded.apiserver.store import Object, Store

if TYPE_CHECKING:
    import ssl

    from drakit_api.features import FeatureGates


@dataclass(slots=True, eq=False)
class Api:
    """Store, catalog and gates; the ``Cluster`` that the rules of the registry see."""

    store: Store
    catalog: Catalog
    gates: FeatureGates
    # The token for the kubelets' container logs; empty if there is none.
    kubelet_token: str = ""
    # How their ports are spoken to; False is https with whoever answers.
    kubelet_tls: ssl.SSLContext | Literal[False] = False
    admission: Admission = field(default_factory=Admission)

    def find(self, storage: str, namespace: str, name: str) -> Object | None:
        """A decoded copy of an object of the collection ``storage`` (``pods``, ``deviceclasses.resource.k8s.io``)."""
        record = self.store.named(storage).get(namespace, name)
        return record.object() if record is not None else None
