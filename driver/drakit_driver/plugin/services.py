"""The gRPC methods of the plugin, as generic handlers over the generated messages.

Generic, because the health service's path is no legal protobuf package of its own and v1 and v1beta1 differ in nothing
but their path: one implementation serves every version, and a test can serve any subset.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from types import ModuleType
from typing import Any, TypeVar

import grpc

from drakit_api.kubelet import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    health_v1_pb2,
    health_v1alpha1_pb2,
    registration_v1_pb2,
    wire,
)
from drakit_driver.plugin.health import HealthBoard
from drakit_driver.preparing.checkpoint import PreparedClaim
from drakit_driver.preparing.claim_references import ClaimReference
from drakit_driver.preparing.prepare import Preparer
from drakit_driver.reports import Report

T = TypeVar("T")
Registered = Callable[[bool, str], None]

_DRA: dict[str, ModuleType] = {wire.DRA_V1: dra_v1_pb2, wire.DRA_V1BETA1: dra_v1beta1_pb2}
_HEALTH: dict[str, ModuleType] = {wire.HEALTH_V1: health_v1_pb2, wire.HEALTH_V1ALPHA1: health_v1alpha1_pb2}
# The order matters to the kubelet: it takes the first DRA version of the list that it knows.
ALL_SERVICES = (*_DRA, *_HEALTH)


def registration_handler(
    driver: str, endpoint: str, versions: Sequence[str], registered: Registered
) -> grpc.GenericRpcHandler:
    """Serve ``pluginregistration.Registration``; call ``registered(ok, error)`` with each of the kubelet's verdicts."""

    async def get_info(request: Any, context: Any) -> Any:
        return registration_v1_pb2.PluginInfo(
            type=wire.DRA_PLUGIN_TYPE, name=driver, endpoint=endpoint, supported_versions=list(versions)
        )

    async def notify(request: Any, context: Any) -> Any:
        registered(request.plugin_registered, request.error)
        if not request.plugin_registered:
            await context.abort(grpc.StatusCode.UNKNOWN, f"failed registration process: {request.error}")
        return registration_v1_pb2.RegistrationStatusResponse()

    return grpc.method_handlers_generic_handler(
        wire.REGISTRATION_SERVICE,
        {
            "GetInfo": _unary(get_info, registration_v1_pb2.InfoRequest),
            "NotifyRegistrationStatus": _unary(notify, registration_v1_pb2.RegistrationStatus),
        },
    )


def plugin_handlers(
    versions: Sequence[str], preparer: Preparer, board: HealthBoard, report: Report
) -> list[grpc.GenericRpcHandler]:
    """Make a handler for each advertised version that is known; a test may advertise others, which nobody serves.

    ``report`` is told of each claim that a kubelet wants to be prepared, and with which version it says so.
    """
    handlers = [
        _dra_handler(version, messages, preparer, report) for version, messages in _DRA.items() if version in versions
    ]
    handlers += [
        _health_handler(version, messages, board) for version, messages in _HEALTH.items() if version in versions
    ]
    return handlers


def _dra_handler(version: str, messages: ModuleType, preparer: Preparer, report: Report) -> grpc.GenericRpcHandler:
    async def prepare(request: Any, context: Any) -> Any:
        references = _references(request)
        for reference in references:
            if reference.problem() is None:
                report(f"claim {reference} ({reference.uid}): asked to prepare, {version}")
        results = await _to_the_end(preparer.prepare(references))
        response = messages.NodePrepareResourcesResponse()
        for uid, result in results.items():
            if isinstance(result, PreparedClaim):
                devices = [_device(messages, result, index) for index in range(len(result.devices))]
                response.claims[uid].CopyFrom(messages.NodePrepareResourceResponse(devices=devices))
            else:
                response.claims[uid].error = str(result)
        return response

    async def unprepare(request: Any, context: Any) -> Any:
        results = await _to_the_end(preparer.unprepare(_references(request)))
        response = messages.NodeUnprepareResourcesResponse()
        for uid, error in results.items():
            response.claims[uid].error = "" if error is None else str(error)
        return response

    return grpc.method_handlers_generic_handler(
        wire.SERVICES[version],
        {
            wire.PREPARE_METHOD: _unary(prepare, messages.NodePrepareResourcesRequest),
            wire.UNPREPARE_METHOD: _unary(unprepare, messages.NodeUnprepareResourcesRequest),
        },
    )


def _health_handler(version: str, messages: ModuleType, board: HealthBoard) -> grpc.GenericRpcHandler:
    async def watch(request: Any, context: Any) -> AsyncIterator[Any]:
        async for report in board.reports():
            yield messages.NodeWatchResourcesResponse(
                devices=[
                    messages.DeviceHealth(
                        device=messages.DeviceIdentifier(pool_name=pool, device_name=device),
                        health=int(state.health),
                        last_updated_time=state.since,
                        message=state.message,
                    )
                    for (pool, device), state in report.items()
                ]
            )

    return grpc.method_handlers_generic_handler(
        wire.SERVICES[version],
        {
            wire.WATCH_HEALTH_METHOD: grpc.unary_stream_rpc_method_handler(
                watch,
                request_deserializer=messages.NodeWatchResourcesRequest.FromString,
                response_serializer=_serialize,
            )
        },
    )


def _device(messages: ModuleType, claim: PreparedClaim, index: int) -> Any:
    device = claim.devices[index]
    message = messages.Device(
        # A container refers to the request, never to the subrequest that was chosen for it, and the kubelet compares
        # names as they are (cdiDevicesAsList in pkg/kubelet/cm/dra/claiminfo.go); kubeletplugin strips them too.
        request_names=[device.request.partition("/")[0]],
        pool_name=device.pool,
        device_name=device.device,
        cdi_device_ids=[device.cdi_id],
    )
    # v1beta1 knows no shares.
    if device.share_id is not None and "share_id" in message.DESCRIPTOR.fields_by_name:
        message.share_id = device.share_id
    return message


def _references(request: Any) -> list[ClaimReference]:
    return [ClaimReference(claim.namespace, claim.name, claim.uid) for claim in request.claims]


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish even if the kubelet hangs up: half a preparation would be worse than one that nobody waits for."""
    task = asyncio.ensure_future(work)
    return await asyncio.shield(task)


def _serialize(message: Any) -> bytes:
    raw: bytes = message.SerializeToString()
    return raw


def _unary(method: Callable[[Any, Any], Awaitable[Any]], request: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(
        method, request_deserializer=request.FromString, response_serializer=_serialize
    )
