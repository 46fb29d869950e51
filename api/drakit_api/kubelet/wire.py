"""Names on the kubelet's plugin sockets: plugin type, advertised versions, gRPC method paths.

A version as it is advertised is not the name of its service: ``v1.DRAPlugin`` is served under the package of its
protobuf file, while the health service is served under exactly its advertised name (``k8s.io/kubelet`` v0.37.1
``pkg/apis/*/types.go`` and ``api_grpc.pb.go``).
"""

from __future__ import annotations

# ``PluginInfo.type`` of a DRA driver (pluginregistration/v1/constants.go).
DRA_PLUGIN_TYPE = "DRAPlugin"

# Values of ``PluginInfo.supported_versions``.
DRA_V1 = "v1.DRAPlugin"
DRA_V1BETA1 = "v1beta1.DRAPlugin"
HEALTH_V1 = "v1.DRAResourceHealth"
HEALTH_V1ALPHA1 = "v1alpha1.DRAResourceHealth"

REGISTRATION_SERVICE = "pluginregistration.Registration"
GET_INFO = f"/{REGISTRATION_SERVICE}/GetInfo"
NOTIFY_REGISTRATION_STATUS = f"/{REGISTRATION_SERVICE}/NotifyRegistrationStatus"

# The gRPC service behind each advertised version.
SERVICES = {
    DRA_V1: "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    DRA_V1BETA1: "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin",
    HEALTH_V1: "v1.DRAResourceHealth",
    HEALTH_V1ALPHA1: "v1alpha1.DRAResourceHealth",
}

PREPARE_METHOD = "NodePrepareResources"
UNPREPARE_METHOD = "NodeUnprepareResources"
WATCH_HEALTH_METHOD = "NodeWatchResources"


def method_path(version: str, method: str) -> str:
    """Return the gRPC path of a method (``PREPARE_METHOD``) in an advertised version; ``KeyError`` for others."""
    return f"/{SERVICES[version]}/{method}"
