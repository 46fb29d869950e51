"""What volumes of pods hold, as far as it comes from the API server: ConfigMaps, Secrets, tokens and the pod itself.

They are read when somebody looks, so they are always up to date; a real kubelet needs up to a minute for that. After
k8s.io/kubernetes/pkg/volume/{configmap,secret,downwardapi,projected} and pkg/kubelet/token.
"""

from __future__ import annotations

import base64
import errno
import logging
import stat
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, NotFound
from drakit_client.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, Resource
from drakit_embedded.kubelet.containers import field_value
from drakit_embedded.kubelet.execution.entries import refused
from drakit_embedded.kubelet.execution.stored_files import Files, StoredFile

log = logging.getLogger(__name__)

_MODE = 0o644
_TOKEN_SECONDS = 3600
# The part of a token's life after which another one is asked for.
_FRESH = 0.8
KINDS = ("configMap", "secret", "downwardAPI", "projected")


class _Token(NamedTuple):
    text: str
    stale: float


class Volumes:
    """Reads volumes through one kubelet's connection; tokens are kept as long as they are fresh."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tokens: dict[tuple[str, str, int], _Token] = {}

    async def files(self, pod: Object, pod_ip: str, volume: Object) -> Files:
        """Read the files of a volume of one of ``KINDS``.

        Raises:
            OSError: if the API server does not answer, or refuses.
        """
        try:
            return await self._files(pod, pod_ip, volume)
        except REQUEST_FAILURES as error:
            log.warning("volume %s of pod %s: %s", volume["name"], pod["metadata"]["name"], error)
            raise refused(errno.EIO) from None

    async def _files(self, pod: Object, pod_ip: str, volume: Object) -> Files:
        projected = volume.get("projected")
        kind = next(kind for kind in KINDS if kind in volume)
        default = volume[kind].get("defaultMode", _MODE)
        found: dict[str, StoredFile] = {}
        for source in projected.get("sources") or () if projected else [volume]:
            for path, content, mode in await self._source(pod, pod_ip, source):
                found[path] = StoredFile(content, stat.S_IFREG | (default if mode is None else mode))
        return found

    async def _source(self, pod: Object, pod_ip: str, source: Object) -> list[tuple[str, bytes, int | None]]:
        namespace = pod["metadata"]["namespace"]
        if (wanted := source.get("configMap")) is not None:
            return _chosen(await self._stored(CONFIG_MAPS, namespace, wanted.get("name", "")), wanted)
        if (wanted := source.get("secret")) is not None:
            name = wanted.get("secretName") or wanted.get("name", "")
            return _chosen(await self._stored(SECRETS, namespace, name), wanted)
        if (wanted := source.get("downwardAPI")) is not None:
            values = ((item, field_value(pod, item, pod_ip)) for item in wanted.get("items") or ())
            return [(item["path"], (value or "").encode(), item.get("mode")) for item, value in values]
        if (wanted := source.get("serviceAccountToken")) is not None:
            return [(wanted["path"], (await self._token(pod, wanted)).encode(), None)]
        return []

    async def _stored(self, resource: Resource, namespace: str, name: str) -> dict[str, bytes]:
        """Read the values of a ConfigMap or Secret; none if it is gone."""
        try:
            obj = await self._connection.get(resource, name, namespace)
        except NotFound:
            return {}
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        if resource is SECRETS:
            data, binary = {}, data
        texts = {key: value.encode() for key, value in data.items()}
        return {**texts, **{key: base64.b64decode(value) for key, value in binary.items()}}

    async def _token(self, pod: Object, wanted: Object) -> str:
        """Take a token of the pod's account, bound to the pod, from those that are kept, or a new one."""
        metadata, now = pod["metadata"], time.monotonic()
        audience, seconds = wanted.get("audience", ""), wanted.get("expirationSeconds", _TOKEN_SECONDS)
        key = (metadata["uid"], audience, seconds)
        self._tokens = {each: token for each, token in self._tokens.items() if token.stale > now}
        if (kept := self._tokens.get(key)) is None:
            bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
            spec = {"audiences": [audience] if audience else [], "expirationSeconds": seconds, "boundObjectRef": bound}
            account = pod["spec"].get("serviceAccountName") or "default"
            path = SERVICE_ACCOUNTS.path(metadata["namespace"], account, "token")
            request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
            answer = await self._connection.json("POST", path, request)
            kept = self._tokens[key] = _Token(answer["status"]["token"], now + seconds * _FRESH)
        return kept.text


def _chosen(values: Mapping[str, bytes], wanted: Object) -> list[tuple[str, bytes, int | None]]:
    """Choose the values that a volume names, with their paths and modes; all of them if it names none."""
    items: Iterable[Object] = wanted.get("items") or ({"key": key, "path": key} for key in values)
    return [(item["path"], values[item["key"]], item.get("mode")) for item in items if item["key"] in values]
