"""The kubelet's messages are on the wire what the kubelet expects, and the generated modules are current."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf.descriptor import FileDescriptor
from grpc_tools import protoc

from drakit_api import kubelet
from drakit_api.kubelet import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    health_v1_pb2,
    health_v1alpha1_pb2,
    registration_v1_pb2,
    wire,
)
from drakit_client import claim_writes

FOLDER = Path(kubelet.__path__[0])

# As recorded from kubelets 1.37.1 and 1.36.3.
PATHS_SEEN = {
    "/pluginregistration.Registration/GetInfo": registration_v1_pb2.DESCRIPTOR,
    "/pluginregistration.Registration/NotifyRegistrationStatus": registration_v1_pb2.DESCRIPTOR,
    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources": dra_v1_pb2.DESCRIPTOR,
    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources": dra_v1_pb2.DESCRIPTOR,
    "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodePrepareResources": dra_v1beta1_pb2.DESCRIPTOR,
    "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources": dra_v1beta1_pb2.DESCRIPTOR,
    "/v1.DRAResourceHealth/NodeWatchResources": health_v1_pb2.DESCRIPTOR,
    "/v1alpha1.DRAResourceHealth/NodeWatchResources": health_v1alpha1_pb2.DESCRIPTOR,
}


def paths(descriptor: FileDescriptor) -> set[str]:
    services = descriptor.services_by_name.values()
    return {f"/{service.full_name}/{method.name}" for service in services for method in service.methods}


@pytest.mark.parametrize("path", PATHS_SEEN)
def test_every_method_that_a_kubelet_calls_is_declared(path: str) -> None:
    assert path in paths(PATHS_SEEN[path])


def test_the_names_are_those_of_these_methods() -> None:
    methods = {
        version: [wire.PREPARE_METHOD, wire.UNPREPARE_METHOD] if "DRAPlugin" in version else [wire.WATCH_HEALTH_METHOD]
        for version in wire.SERVICES
    }
    named = {wire.method_path(version, method) for version, known in methods.items() for method in known}
    assert named | {wire.GET_INFO, wire.NOTIFY_REGISTRATION_STATUS} == set(PATHS_SEEN)


def test_a_prepare_answer_in_bytes() -> None:
    """Field numbers, spelled out: claims=1 {key=1, value=2 {devices=1 {1, 2, 3, 4, 5}}}."""
    device = dra_v1_pb2.Device(
        request_names=["gpu/big"], pool_name="n", device_name="d", cdi_device_ids=["v/c=x"], share_id="s"
    )
    prepared = dra_v1_pb2.NodePrepareResourceResponse(devices=[device])
    answer = dra_v1_pb2.NodePrepareResourcesResponse(claims={"u": prepared})
    wanted = b"\x0a\x07gpu/big\x12\x01n\x1a\x01d\x22\x05v/c=x\x2a\x01s"
    wanted = b"\x0a" + bytes([len(wanted)]) + wanted
    wanted = b"\x0a\x01u\x12" + bytes([len(wanted)]) + wanted
    assert answer.SerializeToString() == b"\x0a" + bytes([len(wanted)]) + wanted


def test_the_older_version_lacks_only_the_share_id() -> None:
    newer = {field.name: field.number for field in dra_v1_pb2.Device.DESCRIPTOR.fields}
    older = {field.name: field.number for field in dra_v1beta1_pb2.Device.DESCRIPTOR.fields}
    assert newer == older | {"share_id": 5}


@pytest.mark.parametrize("package", [kubelet, claim_writes], ids=["kubelet", "claim_writes"])
def test_the_generated_modules_are_current(package: ModuleType, tmp_path: Path) -> None:
    folder = Path(package.__path__[0])
    root = folder.parents[1]
    protos = sorted(str(proto.relative_to(root)) for proto in folder.glob("*.proto"))
    arguments = ["protoc", f"-I{root}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", *protos]
    assert protoc.main(arguments) == 0
    generated = sorted((tmp_path / folder.relative_to(root)).iterdir())
    assert [path.name for path in generated] == sorted(path.name for path in folder.glob("*_pb2.py*"))
    for path in generated:
        header = '# mypy: disable-error-code="type-arg"\n' if path.suffix == ".pyi" else ""
        assert header + path.read_text() == (folder / path.name).read_text()
