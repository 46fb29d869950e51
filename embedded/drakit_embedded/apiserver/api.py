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
from drakit_embedded.apiserver.scheme.kinds import Kind, handled
from drakit_embedded.apiserver.storage.store import Record, Store
from drakit_embedded.apiserver.storage.turns import Turns
from drakit_embedded.serving.background import Background

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_embedded.apiserver.outgoing.clients import Clients
    from drakit_embedded.apiserver.scheme.definitions import Conversion, Definition


def in_other_version(obj: Object, kind: Kind, wanted: Kind) -> Object:
    """Convert a custom resource, without its type, from one version to another."""
    convert = kind.definition.converted if kind.definition is not None else None
    return obj if convert is None else convert(obj, kind.version, wanted.version)


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
    _outgoing: Clients | None = field(init=False, default=None)
    # Writes take turns; reads that take long run in the background.
    turns: Turns = field(default_factory=Turns)
    background: Background = field(default_factory=lambda: Background("drakit-reads"))
    authenticator: Authenticator = field(init=False)
    authorizer: Authorizer = field(init=False)

    def __post_init__(self) -> None:
        self.authenticator = Authenticator(self.store, self.tokens, self.account_key, certificates=self.certificates)
        self.authorizer = Authorizer(self.store, self.gates)
        self.catalog.conversions = self._conversions

    @property
    def outgoing(self) -> Clients:
        """The calls to other programs."""
        if self._outgoing is None:
            # Imported here, as few clusters have webhooks.
            from drakit_embedded.apiserver.outgoing.clients import Clients

            self._outgoing = Clients(self.store)
        return self._outgoing

    def _conversions(self, definition: Definition) -> Conversion:
        from drakit_embedded.apiserver.converting.programs import Program

        return Program(definition, self.outgoing).converted

    async def close(self) -> None:
        """End what is under way: calls, writes that wait for their turn, and reads."""
        if self._outgoing is not None:
            await self._outgoing.close()
        await self.turns.close()
        self.background.close()

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

    def read(self, record: Record, kind: Kind) -> Object:
        """Decode a stored object as clients of ``kind`` read it."""
        if kind.definition is not None:
            return self.catalog.found(kind).stored(record)
        return self.shown(record.object(), kind, kind)

    def shown(self, obj: Object, kind: Kind, wanted: Kind) -> Object:
        """Convert an object as admission has it, for a write to ``kind``, into what clients of ``wanted`` read."""
        if kind.definition is not None:
            return in_other_version(obj, kind, wanted)
        served = self.catalog.found(wanted)
        if served.converter is not None:
            return served.converter.from_storage(obj)
        return obj if served.strategy.canonical is None else served.strategy.canonical(obj, self)

    def kind_named(self, group: str, version: str, name: str) -> Kind | None:
        """Find a kind that is served, by its name."""
        return self.catalog.kind_named(group, version, name)

    def taken(self, obj: Object, kind: Kind, given: Kind, *, strict: bool = False) -> Object:
        """Read an object as clients of ``given`` send it, and convert it back for a write to ``kind``."""
        if kind.definition is not None:
            typed = in_other_version(obj, given, kind)
            if obj.get("apiVersion") in (None, given.api_version):
                typed = {"kind": kind.kind, **typed, "apiVersion": kind.api_version}
            strategy = self.catalog.found(kind).strategy
            return (strategy.decode_changed or strategy.decode)(typed, kind, "Ignore", self)[0]
        served = self.catalog.found(given)
        validation = "Strict" if strict and given.definition is None else "Ignore"
        read, _ = served.strategy.decode(obj, given, validation, self)
        return read if served.converter is None else served.converter.to_storage(read)

    def default(self, obj: Object, kind: Kind, subresource: str) -> None:
        """Set the defaults of a kind in an object of a write to it, if that is a whole object of it."""
        if handled(kind, subresource) == handled(kind, ""):
            self.catalog.found(kind).strategy.default(obj, self)

    def own_fields(self, kind: Kind, made: Object) -> None:
        """Make the server the manager of an object that it creates beside another."""
        track(Writer(SERVER, kind), None, made)
