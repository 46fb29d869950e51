"""What a client accepts, and in which form it is answered."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import CLAIMS, MAPS, NAMESPACE
from tests.vectors.record.apiserver.conventions.exchange import exchange

_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_ACCEPTED = (
    "application/json",
    "*/*",
    "application/*",
    "text/html",
    "text/plain",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "image/*",
    "",
    "foo",
    "application/json;q=0",
    "application/json;q=0.5,application/yaml",
    "application/yaml,application/json",
    "application/json, */*",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/json;pretty=1",
    "application/json;charset=utf-8",
    "application/json;stream=watch",
    "application/json;stream=foo",
    "application/json;export=1",
    "application/json;sv=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1beta1beta1",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    "application/json;as=Table;g=meta.k8s.io;v=v2",
    "application/json;as=Table;g=foo;v=v1",
    "application/json;as=Table",
    "application/json;as=Foo;g=meta.k8s.io;v=v1",
    "application/json;as=Foo;g=meta.k8s.io;v=v1,application/json",
    "application/yaml;as=Table;g=meta.k8s.io;v=v1",
    "*/*;as=Table;g=meta.k8s.io;v=v1",
    "application/*;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
    "APPLICATION/JSON",
    "application/JSON",
    "application/json ; q=1",
    "application / json",
    "application/json,",
    "application/json;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
    "application/json;q=abc",
    "*",
    "*/json",
    "application/json-patch+json",
    "application/vnd.kubernetes.protobuf,application/json",
)
_PATHS = (
    f"{MAPS}?labelSelector=app=web",
    f"{MAPS}/c1",
    f"{MAPS}/nope",
    "/version",
    "/api",
    "/apis",
    "/apis/apps",
    "/api/v1",
    "/apis/apps/v1",
    "/healthz",
    "/",
    f"{CLAIMS}?labelSelector=n=9",
    f"{CLAIMS}",
    f"{CLAIMS}/k0",
    f"{MAPS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=c1",
    "/api/v1/nodes",
    f"{NAMESPACE}/pods",
    f"{NAMESPACE}/serviceaccounts/default",
)
_AGENTS = ("curl/8", "Wget/1", "Mozilla/5.0 x", "kubectl/v1")
_PRETTY = ("", "?pretty=false", "?pretty=0", "?pretty=true", "?pretty=1", "?pretty=T", "?pretty=x", "?pretty=")
_ENCODINGS = ("gzip", "deflate", "gzip;q=0", "*", "gzip, deflate", "identity")


def exchanges() -> Iterator[Object]:
    """Reads; of what is found only the media type and the kind are compared."""
    for accepted in _ACCEPTED:
        for path in _PATHS:
            yield exchange("media types", "GET", path, brief=True, Accept=accepted)
    for included in ("None", "Object", "Metadata", "", "foo", "none"):
        for path in (f"{MAPS}?", f"{MAPS}/c1?", f"{MAPS}?watch=1&timeoutSeconds=1&"):
            yield exchange("media types", "GET", f"{path}includeObject={included}", brief=True, Accept=_TABLE)
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        accepted = f"application/json;as={kind};g=meta.k8s.io;v=v1"
        yield exchange("media types", "GET", f"{MAPS}?watch=1&timeoutSeconds=1", Accept=accepted)
    for agent in _AGENTS:
        for pretty in _PRETTY:
            for name in ("c1", "nope"):
                yield exchange("media types", "GET", f"{MAPS}/{name}{pretty}", brief=True, User_Agent=agent)
    for encoding in _ENCODINGS:
        for path in (MAPS, "/apis/apps/v1", "/openapi/v3"):
            yield exchange("media types", "GET", path, brief=True, Accept_Encoding=encoding)
