"""An APIService for each group and version that definitions bring, as long as they do.

k8s.io/kubernetes/pkg/controlplane/controller/crdregistration.
"""

from __future__ import annotations

from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.scheme import api_services, metadata


def keep_in_step(api: Api) -> None:
    """Create and delete the APIServices of custom resources, after what is served has changed."""
    collection = api.store.named(f"apiservices.{api_services.GROUP}")
    wanted = {
        f"{version}.{group}": (group, version)
        for group, versions in api.catalog.custom_groups().items()
        for version in versions
    }
    present = {name for _, name in collection.records if collection.records["", name].labels == api_services.CUSTOM}
    for name in present - wanted.keys():
        api.store.delete(collection, ("", name), collection.records["", name].object())
    for name in sorted(wanted.keys() - present):
        if ("", name) not in collection.records:
            now = metadata.timestamp()
            service = api_services.local(*wanted[name], now)
            service["metadata"] |= {"uid": metadata.new_uid(), "creationTimestamp": now}
            api.store.put(collection, ("", name), service)
