"""A custom resource in one version: how stored objects are read in it, and what is stored of those written in it.

``crdConversionRESTOptionsGetter`` of k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/customresource_handler.go: an
object gets shape and defaults of the version in which it is stored, is converted, and gets the shape of the other one.
"""

from __future__ import annotations

from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_api.structural import embedded
from drakit_embedded.apiserver.registry.custom import decoding
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError, UnreadableError
from drakit_embedded.apiserver.registry.strategy import Cluster
from drakit_embedded.apiserver.scheme.definitions import Definition, Version
from drakit_embedded.apiserver.storage.store import Record


class InVersion(NamedTuple):
    """One version of a definition."""

    definition: Definition
    version: Version

    @property
    def differs(self) -> bool:
        """Whether objects of other versions, or of older schemas, may have to be read."""
        definition, source = self.definition, self.version.schema.source
        others = (other.schema.source for other in definition.versions.values())
        return definition.is_converting or definition.has_older or any(other != source for other in others)

    @property
    def as_stored(self) -> str | None:
        """The API version of records that are read as they are, if there are any.

        Objects that were written in another version may lack defaults of this one.
        """
        is_complete = not self.definition.has_older and decoding.defaults(self.version).are_none
        return self.definition.kind(self.version).api_version if is_complete else None

    def read(self, record: Record) -> Object:
        """Read a stored object in this version.

        Raises:
            UnreadableError: if it cannot be converted.
            Pending: if a program is still to convert it.
        """
        definition, name = self.definition, record.api_version.rpartition("/")[2] or self.definition.storage
        obj, source = record.object(), definition.versions.get(name)
        try:
            if source is None:
                raise ConversionError(f"request to convert CR from an invalid group/version: {record.api_version}")
            decoding.in_version(obj, source)
            return obj if source is self.version else self._converted(obj, source, self.version)
        except ConversionError as error:
            raise UnreadableError(definition.kind(self.version), record, error.message) from None

    def stored_form(self, obj: Object, cluster: Cluster) -> Object:
        """Convert an object of this version to what is stored of it, with numbers as Go prints them.

        Raises:
            ConversionError: if that fails.
            Pending: if a program is still to convert it.
        """
        form: Object = decoding.printed(obj)
        stored = self.definition.versions[self.definition.storage]
        differs = self.definition.is_converting or stored.schema.source != self.version.schema.source
        if differs and stored is not self.version:
            form = self._converted(decoding.copied(form), self.version, stored)
        return form

    def _converted(self, obj: Object, source: Version, wanted: Version) -> Object:
        convert = self.definition.converted
        if convert is not None:
            obj = decoding.printed(convert(obj, source.name, wanted.name))
        try:
            decoding.shaped(obj, wanted, drop_invalid=convert is None)
        except embedded.CoercionError as error:
            raise ConversionError(str(error)) from None
        return obj
