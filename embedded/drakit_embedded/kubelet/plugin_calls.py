"""The gRPC calls that a kubelet makes to a DRA plugin, the same for every version of the protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
import grpc.aio

from drakit_api.kubelet import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    health_v1_pb2,
    health_v1alpha1_pb2,
    registration_v1_pb2,
    wire,
)
from drakit_embedded.kubelet.claims import ClaimInfo, Device
from drakit_embedded.kubelet.device_health import Report

# defaultClientCallTimeout (cm/dra/plugin/dra_plugin.go).
_CALL_SECONDS = 45.0
# pluginmanager/operationexecutor/operation_generator.go.
_GET_INFO_SECONDS = 1.0
_NOTIFY_SECONDS = 5.0
_NO_CONNECTION = re.compile(
    r"failed to connect to all addresses; last error: \w+: unix:(?P<path>.+?): .*error: (?P<reason>[^:]+)$"
)
_LOST_CONNECTION = re.compile(
    r"(?:Stream removed \()?(?:Socket closed|recvmsg: ?(?P<reason>\w[\w ]*\w)(?: \(\d+\))?)\)?$"
)
# sun_path holds 108 bytes with the final zero.
_LONGEST_PATH = 107
_MESSAGES: dict[str, Any] = {wire.DRA_V1: dra_v1_pb2, wire.DRA_V1BETA1: dra_v1beta1_pb2}
_HEALTH_MESSAGES: dict[str, Any] = {wire.HEALTH_V1: health_v1_pb2, wire.HEALTH_V1ALPHA1: health_v1alpha1_pb2}


class CallError(Exception):
    """A failed call, in the words of grpc-go: ``rpc error: code = Unavailable desc = ...``."""

    def __init__(self, code: grpc.StatusCode, details: str | None) -> None:
        self.unimplemented = code is grpc.StatusCode.UNIMPLEMENTED
        name = "Canceled" if code is grpc.StatusCode.CANCELLED else code.name.title().replace("_", "")
        super().__init__(f"rpc error: code = {name} desc = {_in_go(details or '')}")


def _in_go(details: str) -> str:
    """Reword a broken connection as grpc-go reports it, rather than grpc's C core; these texts end up in events."""
    if match := _NO_CONNECTION.match(details):
        dial = f"dial unix {match['path']}: connect: {match['reason'].lower()}"
        return f'connection error: desc = "transport: Error while dialing: {dial}"'
    if match := _LOST_CONNECTION.match(details):
        reason = match["reason"].lower() if match["reason"] else "EOF"
        return f"error reading from server: {reason}"
    return "context deadline exceeded" if details == "Deadline Exceeded" else details


class Prepared(NamedTuple):
    """A plugin's answer for one claim."""

    devices: list[Device]
    error: str


class PluginInfo(NamedTuple):
    """What a plugin says of itself on its registration socket."""

    type: str
    name: str
    endpoint: str
    versions: list[str]


def open_channel(path: str) -> grpc.aio.Channel:
    """Open a channel to a unix socket.

    Raises:
        ValueError: if the path is too long for a socket.
    """
    if len(path.encode()) > _LONGEST_PATH:
        raise ValueError(f"socket path is longer than {_LONGEST_PATH} bytes, use a shorter root directory: {path}")
    options = [
        # What grpc-go sends; the path that grpc's C core would send instead is refused by some servers.
        ("grpc.default_authority", "localhost"),
        ("grpc.enable_http_proxy", 0),
        # A subchannel shared between two registrations would hide that the socket was replaced.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return grpc.aio.insecure_channel(f"unix:{path}", options=options)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what gRPC raises into ``CallError``."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise CallError(error.code(), error.details()) from error
    except asyncio.CancelledError:
        # gRPC also raises this when the channel is closed during a call, without this task being cancelled.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise CallError(grpc.StatusCode.CANCELLED, "grpc: the client connection is closing") from None


async def get_info(channel: grpc.aio.Channel) -> PluginInfo:
    """Ask a plugin who it is (Registration.GetInfo). Raises ``CallError``."""
    call = channel.unary_unary(
        wire.GET_INFO,
        request_serializer=registration_v1_pb2.InfoRequest.SerializeToString,
        response_deserializer=registration_v1_pb2.PluginInfo.FromString,
    )
    with _refusals():
        info = await call(registration_v1_pb2.InfoRequest(), timeout=_GET_INFO_SECONDS)
    return PluginInfo(info.type, info.name, info.endpoint, list(info.supported_versions))


async def notify_registration(channel: grpc.aio.Channel, error: str) -> None:
    """Call Registration.NotifyRegistrationStatus; the plugin is registered if ``error`` is empty."""
    call = channel.unary_unary(
        wire.NOTIFY_REGISTRATION_STATUS,
        request_serializer=registration_v1_pb2.RegistrationStatus.SerializeToString,
        response_deserializer=registration_v1_pb2.RegistrationStatusResponse.FromString,
    )
    status = registration_v1_pb2.RegistrationStatus(plugin_registered=not error, error=error)
    with _refusals():
        await call(status, timeout=_NOTIFY_SECONDS)


class PluginClient:
    """DRAPlugin and DRAResourceHealth of one plugin, in the versions agreed on at registration."""

    def __init__(self, channel: grpc.aio.Channel, dra_version: str, health_version: str | None) -> None:
        self._channel = channel
        self._dra_version = dra_version
        self._health_version = health_version
        self._messages = _MESSAGES[dra_version]

    async def prepare(self, claims: Sequence[ClaimInfo]) -> dict[str, Prepared]:
        """Call NodePrepareResources; returns the answer for each claim by its uid."""
        messages = self._messages
        response = await self._call(
            wire.PREPARE_METHOD,
            messages.NodePrepareResourcesRequest(claims=self._claims(claims)),
            messages.NodePrepareResourcesResponse,
        )
        return {
            uid: Prepared([_device(d) for d in result.devices], result.error) for uid, result in response.claims.items()
        }

    async def unprepare(self, claims: Sequence[ClaimInfo]) -> dict[str, str]:
        """Call NodeUnprepareResources; returns the error of each claim by its uid, empty for success."""
        messages = self._messages
        response = await self._call(
            wire.UNPREPARE_METHOD,
            messages.NodeUnprepareResourcesRequest(claims=self._claims(claims)),
            messages.NodeUnprepareResourcesResponse,
        )
        return {uid: result.error for uid, result in response.claims.items()}

    async def watch_health(self) -> AsyncIterator[list[Report]]:
        """Call NodeWatchResources: one list for each message, until the plugin ends the stream."""
        assert self._health_version is not None
        messages = _HEALTH_MESSAGES[self._health_version]
        call = self._channel.unary_stream(
            wire.method_path(self._health_version, wire.WATCH_HEALTH_METHOD),
            request_serializer=messages.NodeWatchResourcesRequest.SerializeToString,
            response_deserializer=messages.NodeWatchResourcesResponse.FromString,
        )
        with _refusals():
            async for message in call(messages.NodeWatchResourcesRequest()):
                yield [_report(device) for device in message.devices]

    def _claims(self, claims: Sequence[ClaimInfo]) -> list[Any]:
        return [self._messages.Claim(namespace=i.namespace, uid=i.uid, name=i.name) for i in claims]

    async def _call(self, method: str, request: Any, response: Any) -> Any:
        call = self._channel.unary_unary(
            wire.method_path(self._dra_version, method),
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        with _refusals():
            return await call(request, timeout=_CALL_SECONDS)


def _device(message: Any) -> Device:
    # v1beta1 has no share ids.
    has_share = "share_id" in message.DESCRIPTOR.fields_by_name and message.HasField("share_id")
    share_id = message.share_id if has_share else None
    return Device(
        message.pool_name, message.device_name, tuple(message.request_names), tuple(message.cdi_device_ids), share_id
    )


def _report(message: Any) -> Report:
    return Report(
        message.device.pool_name,
        message.device.device_name,
        message.health,
        float(message.health_check_timeout_seconds),
        message.message,
    )
