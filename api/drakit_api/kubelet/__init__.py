"""The messages that a kubelet and a DRA plugin exchange over unix sockets.

Both ends are in this project, the driver's plugin and the kubelet simulator, and each must also talk to the real other
end; so the messages are declared once, here, compatible on the wire with ``k8s.io/kubelet`` v0.37.1 ``pkg/apis``
(``pluginregistration/v1``, ``dra/v1``, ``dra/v1beta1``, ``dra-health/v1``, ``dra-health/v1alpha1``). The names of
services, methods and versions are in ``wire``; gRPC itself is the business of the two ends.

The ``*_pb2`` modules are generated. After a change to a ``.proto`` file, in the folder ``api``::

    python -m grpc_tools.protoc -I . --python_out=. --pyi_out=. drakit_api/kubelet/*.proto
    sed -i '1i # mypy: disable-error-code="type-arg"' drakit_api/kubelet/*_pb2.pyi

The second line is there because protoc writes a bare ``Mapping`` into its stubs.
"""
