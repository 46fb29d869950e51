"""What people write into the containers of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods.forms import container, create, pod

_GET = {"httpGet": {"port": 80}}
_EXEC = {"exec": {"command": ["true"]}}
_DATA = [{"name": "data", "emptyDir": {}}, {"name": "claim", "persistentVolumeClaim": {"claimName": "x"}}]
_PORT = {"containerPort": 80}
_TLS = {"containerPort": 443}
_FROM_MAP = {"configMapKeyRef": {"name": "m", "key": "k"}}
_FROM_SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}
_ESCALATION = {"allowPrivilegeEscalation": False}


def _port(**fields: Any) -> Object:
    return {"ports": [{**_PORT, **fields}]}


def _env(**source: Any) -> Object:
    return {"env": [{"name": "A", "valueFrom": source}]}


def _field(path: str) -> Object:
    return _env(fieldRef={"fieldPath": path})


def _amount(**reference: Any) -> Object:
    return _env(resourceFieldRef=reference)


def _mount(**fields: Any) -> Object:
    return {"volumeMounts": [{"name": "data", "mountPath": "/d", **fields}]}


def _device(**fields: Any) -> Object:
    return {"volumeDevices": [{"name": "claim", "devicePath": "/dev/x", **fields}]}


def _rule(**fields: Any) -> Object:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}, **fields}
    return {"restartPolicy": "Never", "restartPolicyRules": [rule]}


# What is wrong, or worth a look, by name; in a pod that has the volumes ``data`` and ``claim``.
_FIELDS: dict[str, Object] = {
    "no name": {"name": ""},
    "a name in capitals": {"name": "Main"},
    "a name with a dot": {"name": "a.b"},
    "a long name": {"name": "a" * 64},
    "no image": {"image": ""},
    "an image with spaces": {"image": " i"},
    "an unknown pull policy": {"imagePullPolicy": "Sometimes"},
    "an unknown message policy": {"terminationMessagePolicy": "Log"},
    "no container port": {"ports": [{}]},
    "a high port": _port(containerPort=65536),
    "a negative port": _port(containerPort=-1),
    "a high host port": _port(hostPort=70000),
    "an unknown protocol": _port(protocol="HTTP"),
    "a port name in capitals": _port(name="HTTP"),
    "a long port name": _port(name="a-name-of-16-let"),
    "a port name of digits": _port(name="8080"),
    "a port name with two hyphens": _port(name="a--b"),
    "a port name that begins with a hyphen": _port(name="-a"),
    "a port name that is all wrong": _port(name="-_--------------0"),
    "a port name twice": {"ports": [{**_PORT, "name": "a"}, {**_TLS, "name": "a"}]},
    "a port twice": {"ports": [_PORT, _PORT]},
    "a host port twice": {"ports": [{**_PORT, "hostPort": 80}, {**_TLS, "hostPort": 80}]},
    "a host port for two addresses": {
        "ports": [{**_PORT, "hostPort": 80, "hostIP": "10.0.0.1"}, {**_TLS, "hostPort": 80, "hostIP": "10.0.0.2"}]
    },
    "a variable without name": {"env": [{"value": "x"}]},
    "a variable with an equals sign": {"env": [{"name": "A=B", "value": "x"}]},
    "a variable with a dash and digits": {"env": [{"name": "1-A", "value": "x"}]},
    "a variable beyond ASCII": {"env": [{"name": "ÄRGER", "value": "x"}]},
    "a variable from nothing": _env(),
    "a variable with a value and a source": {"env": [{"name": "A", "value": "x", "valueFrom": _FROM_MAP}]},
    "a variable from two sources": _env(**_FROM_MAP, **_FROM_SECRET),
    "a key of no config map": _env(configMapKeyRef={"key": "k"}),
    "a config map without key": _env(configMapKeyRef={"name": "m"}),
    "a key with a slash": _env(configMapKeyRef={"name": "m", "key": "a/b"}),
    "a key of two dots": _env(secretKeyRef={"name": "m", "key": ".."}),
    "a key that begins with two dots": _env(secretKeyRef={"name": "m", "key": "..a"}),
    "a secret in capitals": _env(secretKeyRef={"name": "S", "key": "k"}),
    "the pod's name": _field("metadata.name"),
    "the pod's address": _field("status.podIP"),
    "a label": _field("metadata.labels['app']"),
    "a label of a wrong name": _field("metadata.labels['a/b/c']"),
    "all labels in a variable": _field("metadata.labels"),
    "an unknown field": _field("spec.containers"),
    "an unknown field of status": _field("status.phase"),
    "a subscript of what has none": _field("metadata.name['a']"),
    "no field": _env(fieldRef={}),
    "a field of another version": _env(fieldRef={"fieldPath": "metadata.name", "apiVersion": "v2"}),
    "a limit": _amount(resource="limits.cpu"),
    "a limit in megabytes": _amount(resource="limits.memory", divisor="1Mi"),
    "a limit in odd parts": _amount(resource="limits.memory", divisor="3"),
    "a limit of cpu in kilo": _amount(resource="requests.cpu", divisor="1k"),
    "a limit of storage in odd parts": _amount(resource="requests.ephemeral-storage", divisor="1m"),
    "huge pages in odd parts": _amount(resource="limits.hugepages-2Mi", divisor="2"),
    "a limit of nothing": _amount(),
    "a limit of an unknown resource": _amount(resource="limits.gpu"),
    "a file of the environment": _env(fileKeyRef={"volumeName": "data", "path": "env", "key": "A"}),
    "a file of no volume": _env(fileKeyRef={"volumeName": "none", "path": "env", "key": "A"}),
    "a file of another volume": _env(fileKeyRef={"volumeName": "claim", "path": "../env", "key": "A=B"}),
    "an empty file reference": _env(fileKeyRef={}),
    "all of nothing": {"envFrom": [{}]},
    "all of two": {"envFrom": [{"configMapRef": {"name": "m"}, "secretRef": {"name": "s"}}]},
    "all of a config map without name": {"envFrom": [{"configMapRef": {}}]},
    "all of a secret in capitals": {"envFrom": [{"secretRef": {"name": "S"}}]},
    "a wrong prefix": {"envFrom": [{"secretRef": {"name": "s"}, "prefix": "a="}]},
    "a mount of no volume": _mount(name="none"),
    "a mount without name": _mount(name=""),
    "a mount without path": _mount(mountPath=""),
    "two mounts at one path": {"volumeMounts": [{"name": name, "mountPath": "/d"} for name in ("data", "claim")]},
    "a sub-path that is absolute": _mount(subPath="/a"),
    "a sub-path that goes up": _mount(subPath="a/../b"),
    "two sub-paths": _mount(subPath="a", subPathExpr="$(A)"),
    "an expression that goes up": _mount(subPathExpr=".."),
    "an unknown propagation": _mount(mountPropagation="Both"),
    "a propagation that needs privileges": _mount(mountPropagation="Bidirectional"),
    "a propagation with privileges": {
        **_mount(mountPropagation="Bidirectional"),
        "securityContext": {"privileged": True},
    },
    "recursively read-only, but not read-only": _mount(recursiveReadOnly="Enabled"),
    "recursively read-only, and propagated": _mount(
        recursiveReadOnly="IfPossible", readOnly=True, mountPropagation="HostToContainer"
    ),
    "an unknown recursion": _mount(recursiveReadOnly="Maybe"),
    "a device": _device(),
    "a device of no volume": _device(name="none"),
    "a device of a directory": _device(name="data"),
    "a device without path": _device(devicePath=""),
    "a device whose path goes up": _device(devicePath="/dev/../x"),
    "a device twice": {"volumeDevices": [{"name": "claim", "devicePath": "/dev/x"}] * 2},
    "a device that is mounted": {**_device(), **_mount(name="claim")},
    "a device where something is mounted": {**_device(), **_mount(mountPath="/dev/x")},
    "a probe of nothing": {"livenessProbe": {}},
    "a probe of two sorts": {"livenessProbe": {**_GET, **_EXEC}},
    "a probe of no command": {"readinessProbe": {"exec": {}}},
    "a probe of no port": {"readinessProbe": {"httpGet": {}}},
    "a probe of a high port": {"readinessProbe": {"tcpSocket": {"port": 70000}}},
    "a probe of a named port": {"readinessProbe": {"tcpSocket": {"port": "http"}}},
    "a probe of a wrong named port": {"readinessProbe": {"tcpSocket": {"port": "HTTP_"}}},
    "a probe of an unknown scheme": {"readinessProbe": {"httpGet": {"port": 80, "scheme": "FTP"}}},
    "a probe with a wrong header": {
        "readinessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}
    },
    "a probe by gRPC": {"startupProbe": {"grpc": {"port": 80}}},
    "a probe by gRPC of no port": {"startupProbe": {"grpc": {"port": 0}}},
    "a probe that must succeed twice": {"livenessProbe": {**_GET, "successThreshold": 2}},
    "a startup that must succeed twice": {"startupProbe": {**_GET, "successThreshold": 2}},
    "a readiness that must succeed twice": {"readinessProbe": {**_GET, "successThreshold": 2}},
    "a probe of negative numbers": {
        "livenessProbe": {**_GET, "initialDelaySeconds": -1, "timeoutSeconds": -1, "periodSeconds": -1}
    },
    "a probe of negative thresholds": {"readinessProbe": {**_GET, "failureThreshold": -1, "successThreshold": -1}},
    "a probe without grace": {"livenessProbe": {**_GET, "terminationGracePeriodSeconds": 0}},
    "a readiness with grace": {"readinessProbe": {**_GET, "terminationGracePeriodSeconds": 5}},
    "a hook of nothing": {"lifecycle": {"preStop": {}}},
    "a hook that sleeps": {"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}},
    "a hook that sleeps for too long": {"lifecycle": {"postStart": {"sleep": {"seconds": 31}}}},
    "a hook of two sorts": {"lifecycle": {"preStop": {**_EXEC, "sleep": {"seconds": 5}}}},
    "a stop signal": {"lifecycle": {"stopSignal": "SIGTERM"}},
    "an unknown restart policy": {"restartPolicy": "Sometimes"},
    "a restart policy of its own": {"restartPolicy": "Never"},
    "rules without restart policy": {"restartPolicyRules": _rule()["restartPolicyRules"]},
    "a rule": _rule(),
    "a rule of an unknown action": _rule(action="Reboot"),
    "a rule of an unknown operator": _rule(exitCodes={"operator": "Gt", "values": [1]}),
    "a rule without exit codes": {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]},
    "too many rules": {"restartPolicy": "Never", "restartPolicyRules": _rule()["restartPolicyRules"] * 21},
    "an unknown resize policy": {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Maybe"}]},
    "a resize policy of a gpu": {"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
    "a resize policy twice": {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
    "an empty resize policy": {"resizePolicy": [{"resourceName": "", "restartPolicy": ""}]},
    "a negative user": {"securityContext": {"runAsUser": -1}},
    "a negative group": {"securityContext": {"runAsGroup": -1}},
    "a high user": {"securityContext": {"runAsUser": 2**31}},
    "privileges without escalation": {"securityContext": {"privileged": True, **_ESCALATION}},
    "an administrator without escalation": {
        "securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, **_ESCALATION}
    },
    "an unknown proc mount": {"securityContext": {"procMount": "Masked"}},
    "an unmasked proc mount": {"securityContext": {"procMount": "Unmasked"}},
    "a seccomp profile": {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
    "an unknown seccomp profile": {"securityContext": {"seccompProfile": {"type": "Strict"}}},
    "a seccomp profile of no type": {"securityContext": {"seccompProfile": {}}},
    "a local seccomp profile": {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
    "a local seccomp profile that goes up": {
        "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "../a"}}
    },
    "a default seccomp profile of a file": {
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}
    },
    "an unknown AppArmor profile": {"securityContext": {"appArmorProfile": {"type": "Strict"}}},
    "a local AppArmor profile": {"securityContext": {"appArmorProfile": {"type": "Localhost"}}},
    "a default AppArmor profile of a file": {
        "securityContext": {"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}
    },
}
_GPU = "example.com/gpu"
_CPU_AND_MEMORY = {"cpu": "1", "memory": "1Gi"}
_RESOURCES: dict[str, Object] = {
    "a request without limit": {"requests": {_GPU: "1"}},
    "a limit without request": {"limits": {_GPU: "1"}},
    "a request below its limit": {"requests": {_GPU: "1"}, "limits": {_GPU: "2"}},
    "half a gpu": {"requests": {_GPU: "500m"}, "limits": {_GPU: "500m"}},
    "more cpu than the limit": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
    "less cpu than the limit": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    "cpu below nothing": {"requests": {"cpu": "-1"}},
    "a limit below nothing": {"limits": {"memory": "-1Gi"}},
    "an unknown resource": {"requests": {"cpuu": "1"}},
    "a resource of quotas": {"requests": {"requests.cpu": "1"}},
    "a resource of namespaces": {"limits": {"pods": "1"}},
    "a resource of Kubernetes": {"requests": {"kubernetes.io/gpu": "1"}},
    "a resource of quotas with a domain": {"requests": {"requests.example.com/gpu": "1"}},
    "a resource with a long name": {"limits": {f"example.com/{'a' * 64}": "1"}},
    "a resource whose domain is long for a quota": {"limits": {f"{'a.' * 122}aaaaaaa/gpu": "1"}},
    "a resource without name": {"limits": {"example.com/": "1"}},
    "a resource of two slashes": {"limits": {"example.com/a/b": "1"}},
    "huge pages": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}},
    "huge pages alone": {"limits": {"hugepages-2Mi": "4Mi"}},
    "huge pages and a half": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
    "huge pages below the limit": {
        "limits": {"hugepages-2Mi": "4Mi", "cpu": "1"},
        "requests": {"hugepages-2Mi": "2Mi"},
    },
    "huge pages of no size": {"limits": {"hugepages-": "4Mi", "cpu": "1"}},
    "storage": {"requests": {"ephemeral-storage": "1Gi"}},
    "a claim that is not there": {"claims": [{"name": "gpu"}]},
    "nothing of cpu": {"requests": {"cpu": "0"}},
    "nothing of cpu and memory": {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "0", "memory": "0"}},
    "cpu and memory": {"limits": _CPU_AND_MEMORY},
    "cpu and memory, and less": {"limits": _CPU_AND_MEMORY, "requests": {"cpu": "500m"}},
    "cpu alone": {"limits": {"cpu": "1"}},
    "the same memory twice": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"memory": "1024Mi"}},
}
_INIT: dict[str, Object] = {
    "the name of another": {"name": "c"},
    "a probe": {"livenessProbe": _GET, "readinessProbe": _GET, "startupProbe": _GET},
    "a hook": {"lifecycle": {"preStop": _EXEC}},
    "a probe of a sidecar": {"restartPolicy": "Always", "livenessProbe": _GET},
    "a wrong probe of a sidecar": {"restartPolicy": "Always", "readinessProbe": {}},
    "an unknown restart policy": {"restartPolicy": "Sometimes"},
    "a restart on resize": {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
    "rules without restart policy": {"restartPolicyRules": _rule()["restartPolicyRules"]},
    "a host port twice": {"ports": [{**_PORT, "hostPort": 80}] * 2},
    "an image with spaces": {"image": "i "},
}
_TAGGED = ("i", "i:latest", "i:1", "h:5000/i", "h:5000/i:latest", "I", "a b", "x" * 300)
_IMAGES = (*_TAGGED, f"i@sha256:{'0' * 64}", f"i:latest@sha256:{'0' * 64}")
_FIRST = "spec.containers.0.env.0"
_CHOSEN = ("spec.containers.0.resources", "status.qosClass")


def made() -> Iterator[Vector]:
    """Pods of one container, and some of two."""
    for name, fields in _FIELDS.items():
        yield create(f"container: {name}", pod(containers=[container(**fields)], volumes=_DATA))
    for name, resources in _RESOURCES.items():
        obj = pod(containers=[container(resources=resources)])
        yield create(f"resources: {name}", obj, *_CHOSEN)
    for image in _IMAGES:
        obj = pod(containers=[{"name": "c", "image": image}])
        yield create(f"image: {image[:30]}", obj, "spec.containers.0.imagePullPolicy")
    file = _env(fileKeyRef={"volumeName": "data", "path": "env", "key": "A"})
    yield create("container: what a file is by default", pod(containers=[container(**file)], volumes=_DATA), _FIRST)
    for name, fields in _INIT.items():
        yield create(f"init container: {name}", pod(initContainers=[container(name="init") | fields]))
    yield from _together()


def _together() -> Iterator[Vector]:
    full, none = container(resources={"limits": _CPU_AND_MEMORY}), container(name="d")
    pairs = {"one of two has resources": [full, none], "both have": [full, {**full, "name": "d"}]}
    for name, listed in pairs.items():
        yield create(f"resources: {name}", pod(containers=listed), "status.qosClass")
    yield create("resources: an init container has", pod(initContainers=[{**full, "name": "i"}]), "status.qosClass")
    yield create("containers: none", pod(containers=[]))
    yield create("containers: a name twice", pod(containers=[container(), container()]))
    host = {"ports": [{**_PORT, "hostPort": 80}]}
    yield create("containers: a host port twice", pod(containers=[container(**host), container(name="d", **host)]))
    yield create("containers: an ephemeral one", pod(ephemeralContainers=[container(name="e")]))
    yield create("containers: an ephemeral one that is wrong", pod(ephemeralContainers=[container(ports=[_PORT])]))
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    never = pod(restartPolicy="Never", containers=[container(resizePolicy=policy)])
    yield create("containers: a restart on resize of what never restarts", never)
