"""The kind ResourceSlicePatch on a server whose gate for it is on: the objects of its manifest are made at the start.

Other servers get it as every definition comes, from whoever installs it. What was made stays when the gate is off
again: patches can be looked at and deleted then.
"""

from __future__ import annotations

import logging

from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches import definition
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields import managers
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme.definition_states import PLURAL
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent

log = logging.getLogger(__name__)


def install(api: Api) -> None:
    """Create what is missing, and replace a definition that says something else, as that of another release does.

    What cannot be written, as a policy forbids it, is logged: the server is of use without patches, too.
    """
    for wanted in definition.manifest():
        name = f"{wanted['kind']} {wanted['metadata']['name']}"
        try:
            _ensure(api, wanted)
        except StatusError as error:
            log.error("%s, which patches of devices need, cannot be written: %s", name, error.message)


def _ensure(api: Api, wanted: Object) -> None:
    served = _served(api, wanted)
    name: str = wanted["metadata"]["name"]
    intent = Intent(writer=Writer(managers.SERVER, served.kind))
    decoded = writes.incoming(api, served, wanted, None, validation="Strict", warnings=[])
    if served.collection.get("", name) is None:
        writes.create(api, served, None, decoded, intent)
    elif served.kind.plural == PLURAL:
        # A write that changes nothing leaves the version as it is.
        writes.update(api, served, ("", name), lambda stored: {**stored, "spec": decoded["spec"]}, intent)


def _served(api: Api, wanted: Object) -> Served:
    """Find the kind of an object of the manifest; each of them is one of Kubernetes' own."""
    group, version = wanted["apiVersion"].split("/")
    plural = PLURAL if wanted["kind"] == "CustomResourceDefinition" else f"{wanted['kind'].lower()}s"
    found = api.catalog.find(group, version, plural)
    assert found is not None
    return found
