"""What people write into a pod outside of its containers and volumes, and into the templates of workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.pods.forms import container, create, pod

_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_APP = {"matchLabels": {"app": "a"}}
_TERM = {"topologyKey": "zone", "labelSelector": _APP}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HOST_PORTS = [container(ports=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}])]


def _spread(**fields: Any) -> Object:
    return {"topologySpreadConstraints": [{**_SPREAD, **fields}]}


def _tolerate(**fields: Any) -> Object:
    return {"tolerations": [{"key": "k", "operator": "Exists", **fields}]}


def _near(**fields: Any) -> Object:
    return {"affinity": {"podAffinity": {_REQUIRED: [{**_TERM, **fields}]}}}


def _dns(policy: str = "ClusterFirst", **config: Any) -> Object:
    return {"dnsPolicy": policy, "dnsConfig": config}


def _security(**fields: Any) -> Object:
    return {"securityContext": fields}


_SPECS: dict[str, Object] = {
    "an unknown restart policy": {"restartPolicy": "Sometimes"},
    "an unknown DNS policy": {"dnsPolicy": "Cluster"},
    "a DNS policy of none": {"dnsPolicy": "None"},
    "no server of names": _dns("None", searches=["a"]),
    "four servers of names": _dns(nameservers=["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]),
    "a server of names that is no address": _dns(nameservers=["dns.example.com"]),
    "a server of names with zeros": _dns(nameservers=["010.0.0.1"]),
    "a wrong search": _dns(searches=["A b", ".", "a_b.", "a."]),
    "many searches": _dns(searches=[f"a{number}" for number in range(33)]),
    "long searches": _dns(searches=["a" * 60 + "." + "b" * 60 + "." + "c" * 60 + "." + "d" * 50] * 10),
    "an option without name": _dns(options=[{"value": "1"}]),
    "a host name in capitals": {"hostname": "Host"},
    "a subdomain with a dot": {"subdomain": "a.b"},
    "another host name": {"hostnameOverride": "a.b"},
    "another host name on the host": {"hostnameOverride": "A", "hostNetwork": True, "setHostnameAsFQDN": True},
    "an alias of no address": {"hostAliases": [{"ip": "host", "hostnames": ["a"]}]},
    "an alias of a wrong name": {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["A", "b"]}]},
    "a wrong node": {"nodeName": "A"},
    "a wrong account": {"serviceAccountName": "A"},
    "the class of devices, which is somebody's": {
        "containers": [container(resources={"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}})]
    },
    "two accounts": {"serviceAccountName": "default", "serviceAccount": "other"},
    "the old name of the account": {"serviceAccountName": "", "serviceAccount": "default"},
    "no deadline": {"activeDeadlineSeconds": 0},
    "a far deadline": {"activeDeadlineSeconds": 2**31},
    "grace below nothing": {"terminationGracePeriodSeconds": -5},
    "a wrong label of nodes": {"nodeSelector": {"a/b/c": "d", "e": "f g"}},
    "a wrong class of priority": {"priorityClassName": "A"},
    "an unknown preemption policy": {"preemptionPolicy": "Sometimes"},
    "an unknown operating system": {"os": {"name": "plan9"}},
    "no operating system": {"os": {"name": ""}},
    "Linux with Windows options": {"os": {"name": "linux"}, **_security(windowsOptions={"runAsUserName": "a"})},
    "Windows with a user": {"os": {"name": "windows"}, **_security(runAsUser=1)},
    "overhead": {"overhead": {"cpu": "1"}},
    "a wrong class of runtimes": {"runtimeClassName": "A"},
    "a wrong gate": {"schedulingGates": [{"name": "a/b/c"}]},
    "a gate": {"schedulingGates": [{"name": "a"}]},
    "a gate twice": {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
    "a gate and a node": {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
    "a wrong readiness gate": {"readinessGates": [{"conditionType": "a b"}]},
    "a readiness gate": {"readinessGates": [{"conditionType": "example.com/a"}]},
    "a secret for images": {"imagePullSecrets": [{"name": "A b"}, {}]},
    "processes of the host and shared": {"shareProcessNamespace": True, "hostPID": True},
    "users of its own on the host": {"hostUsers": False, "hostPID": True, "hostIPC": True, "hostNetwork": True},
    "users of its own and devices": {
        "hostUsers": False,
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}],
        "containers": [container(volumeDevices=[{"name": "v", "devicePath": "/dev/x"}])],
    },
    "a wrong toleration": _tolerate(key="a/b/c"),
    "a toleration of everything": {"tolerations": [{"operator": "Exists"}]},
    "a toleration of a value of everything": {"tolerations": [{"value": "a"}]},
    "a toleration of a wrong value": _tolerate(operator="Equal", value="a b"),
    "a toleration that exists with a value": _tolerate(value="a"),
    "a toleration of an unknown operator": _tolerate(operator="In", value="a"),
    "a toleration of a greater number": _tolerate(operator="Gt", value="5"),
    "a toleration of an unknown effect": _tolerate(effect="Kill"),
    "a toleration of seconds without effect": _tolerate(tolerationSeconds=5),
    "a skew of nothing": _spread(maxSkew=0),
    "no topology": _spread(topologyKey=""),
    "an unknown action": _spread(whenUnsatisfiable="Wait"),
    "a constraint twice": {"topologySpreadConstraints": [_SPREAD, _SPREAD]},
    "no domains": _spread(minDomains=0),
    "domains of what is scheduled anyway": _spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
    "an unknown policy of nodes": _spread(nodeAffinityPolicy="Maybe", nodeTaintsPolicy="Never"),
    "label keys without selector": _spread(matchLabelKeys=["a"]),
    "a wrong label key": _spread(matchLabelKeys=["a/b/c"], labelSelector=_APP),
    "a label key that is selected by": _spread(matchLabelKeys=["app"], labelSelector=_APP),
    "a wrong selector": _spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}),
    "near with label keys without selector": _near(matchLabelKeys=["a"], labelSelector=None),
    "near with a label key of both sorts": _near(matchLabelKeys=["a"], mismatchLabelKeys=["a"]),
    "near with a label key that is selected by": _near(matchLabelKeys=["app"]),
    "near with a wrong label key": _near(mismatchLabelKeys=["a/b/c"]),
    "near with a wrong namespace": _near(namespaces=["A"]),
    "a group below nothing": _security(fsGroup=-1),
    "a high group": _security(runAsGroup=2**31, supplementalGroups=[1, -1]),
    "a negative user": _security(runAsUser=-1),
    "an unknown change of groups": _security(fsGroupChangePolicy="Never"),
    "an unknown policy of groups": _security(supplementalGroupsPolicy="Never"),
    "an unknown change of SELinux": _security(seLinuxChangePolicy="Never"),
    "a wrong sysctl": _security(sysctls=[{"name": "A b", "value": "1"}, {"name": "", "value": "1"}]),
    "a sysctl twice": _security(sysctls=[{"name": "kernel.shm_rmid_forced", "value": "1"}] * 2),
    "a sysctl of the host's network": {
        "hostNetwork": True,
        **_security(sysctls=[{"name": "net.core.somaxconn", "value": "1"}]),
    },
    "a sysctl of the host's memory": {"hostIPC": True, **_security(sysctls=[{"name": "kernel.msgmax", "value": "1"}])},
    "an unknown seccomp profile": _security(seccompProfile={"type": "Strict"}),
    "a local seccomp profile of no file": _security(seccompProfile={"type": "Localhost"}),
    "an unknown AppArmor profile": _security(appArmorProfile={"type": "Strict"}),
}
_CPU = {"cpu": "1"}
_FULL = {"cpu": "1", "memory": "1Gi"}
_POD_LEVEL: dict[str, Object] = {
    "cpu and memory": {"resources": {"requests": _FULL, "limits": _FULL}},
    "limits of cpu and memory": {"resources": {"limits": _FULL}},
    "cpu": {"resources": {"requests": _CPU}},
    "nothing": {"resources": {}},
    "nothing of cpu": {"resources": {"requests": {"cpu": "0"}}},
    "a gpu": {"resources": {"limits": {"example.com/gpu": "1"}}},
    "storage": {"resources": {"limits": {"ephemeral-storage": "1Gi"}}},
    "a claim": {
        "resources": {"claims": [{"name": "gpu"}]},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
    },
    "more than the limit": {"resources": {"requests": {"cpu": "2"}, "limits": _CPU}},
    "less than its container": {
        "resources": {"requests": _CPU},
        "containers": [container(resources={"requests": {"cpu": "1500m"}})],
    },
    "less than a limit of its container": {
        "resources": {"limits": _CPU},
        "containers": [container(resources={"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})],
    },
    "what its containers have": {
        "resources": {"limits": {"memory": "4Gi"}},
        "containers": [
            container(resources={"requests": {"cpu": "1", "memory": "1Gi"}}),
            container(name="d", resources={"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}),
        ],
    },
    "limits of all containers": {
        "resources": {"requests": {"cpu": "1"}},
        "containers": [
            container(resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}}),
            container(name="d", resources={"limits": {"cpu": "2"}, "requests": {"cpu": "100m"}}),
        ],
    },
    "huge pages of its container": {
        "resources": {"limits": _CPU},
        "containers": [container(resources={"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}})],
    },
    "an init container beside": {
        "resources": {"limits": _FULL},
        "initContainers": [container(name="i", resources={"requests": {"cpu": "750m"}})],
        "containers": [container(resources={"requests": {"cpu": "250m"}})],
    },
    "a sidecar beside": {
        "resources": {"limits": _FULL},
        "initContainers": [container(name="i", restartPolicy="Always", resources={"requests": {"cpu": "750m"}})],
        "containers": [container(resources={"requests": {"cpu": "500m"}})],
    },
}
_HOST: dict[str, Object] = {
    "ports": {"containers": _HOST_PORTS},
    "another port": {"containers": [container(ports=[{"containerPort": 80, "hostPort": 81}])]},
    "ports of an init container": {"initContainers": [container(name="i", ports=[{"containerPort": 80}])]},
}
_ANNOTATIONS: dict[str, Object] = {
    "a wrong cost of deletion": {"controller.kubernetes.io/pod-deletion-cost": "cheap"},
    "a cost of deletion": {"controller.kubernetes.io/pod-deletion-cost": "-7"},
    "a cost of deletion with a plus": {"controller.kubernetes.io/pod-deletion-cost": "+7"},
    "a wrong name": {"a/b/c": "d"},
}
_CLAIM = {"name": "gpu", "resourceClaimName": "gpu"}
_CLAIMS: dict[str, list[Object]] = {
    "one": [_CLAIM],
    "without name": [{"resourceClaimName": "gpu"}],
    "of a wrong name": [{**_CLAIM, "name": "A"}],
    "twice": [_CLAIM, _CLAIM],
    "of nothing": [{"name": "gpu"}],
    "of two sorts": [{**_CLAIM, "resourceClaimTemplateName": "gpu"}],
    "of a wrong claim": [{**_CLAIM, "resourceClaimName": "A"}],
}
_STATIC: dict[str, Any] = {"annotations": {"kubernetes.io/config.mirror": "x"}, "serviceAccountName": ""}
_WORKLOADS = {"daemonsets": "DaemonSet", "deployments": "Deployment", "replicasets": "ReplicaSet"} | {
    "statefulsets": "StatefulSet"
}


def made() -> Iterator[Vector]:
    """Pods, and workloads of each kind."""
    for name, spec in _SPECS.items():
        yield create(f"spec: {name}", pod(**spec), "spec.serviceAccount", "status.qosClass")
    for name, spec in _POD_LEVEL.items():
        yield create(f"pod level: {name}", pod(**spec), "spec.resources", "status.qosClass")
    for name, spec in _HOST.items():
        obj = pod(hostNetwork=True, **spec)
        yield create(f"host network: {name}", obj, "spec.containers.0.ports", "spec.initContainers")
    for name, noted in _ANNOTATIONS.items():
        yield create(f"annotations: {name}", pod(annotations=noted))
    for name, claims in _CLAIMS.items():
        yield create(f"claims: {name}", pod(resourceClaims=claims))
    yield create("static pod: without node", pod(**_STATIC))
    yield create("static pod: right", pod(**_STATIC, nodeName="n"))
    yield create("static pod: with claims", pod(**_STATIC, nodeName="n", resourceClaims=[_CLAIM, _CLAIM]))
    token = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    yield create("spec: a token of no account", pod(serviceAccountName="", volumes=[token]))
    for resource, kind in _WORKLOADS.items():
        yield from _of_workload(resource, kind)


def _of_workload(resource: str, kind: str) -> Iterator[Vector]:
    labels = {"app": "a"}
    changes: dict[str, tuple[Object, Object]] = {
        "nothing wrong": ({}, {}),
        "an empty selector": ({"selector": {}}, {}),
        "no selector": ({"selector": None}, {}),
        "a deadline": ({}, {"activeDeadlineSeconds": 5}),
        "another restart policy": ({}, {"restartPolicy": "Never"}),
        "a wrong container": ({}, {"containers": [container(name="A")]}),
        "an image with spaces": ({}, {"containers": [container(image=" i")]}),
        "ports of the host": ({}, {"hostNetwork": True, "containers": _HOST_PORTS}),
        "an ephemeral container": ({}, {"ephemeralContainers": [container(name="e")]}),
        "a request without limit": (
            {},
            {"containers": [container(resources={"requests": {"example.com/gpu": "1"}})]},
        ),
    }
    for name, (spec, template) in changes.items():
        body = {"containers": [container()], **template}
        obj = {
            "kind": kind,
            "apiVersion": "apps/v1",
            "metadata": {"name": "w"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": body},
                **spec,
            },
        }
        yield create(f"{kind}: {name}", obj, "spec.template.spec.containers.0", resource=resource)
