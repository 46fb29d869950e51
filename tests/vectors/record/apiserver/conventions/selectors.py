"""Selectors of labels and fields, most of them odd."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import MAPS, NAMESPACE
from tests.vectors.record.apiserver.conventions.exchange import exchange

_OF_LABELS = (
    "app=web",
    "app==web",
    "app!=web",
    "app",
    "!app",
    "app in (web)",
    "app in (web,db)",
    "app notin (web)",
    "app in ()",
    "app in (,)",
    "app in (web,)",
    "app in",
    "app in (",
    "app in web",
    "app=",
    "app=,tier=1",
    "app=web,",
    "app=web,,tier=1",
    ",app=web",
    "=web",
    "==",
    "!",
    "!app=web",
    "app>1",
    "tier>3",
    "tier<3",
    "tier>x",
    "tier>",
    "tier>=3",
    "app===web",
    "app=web db",
    "app = web",
    "  app  ",
    "app in (web) tier=1",
    "-a=b",
    "a/b/c=d",
    "a.b/c=d",
    "/a=b",
    "a=b c",
    "a=!b",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=1",
    "a=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "a=b!",
    "a=é",
    "é=a",
    "a in (b c)",
    "a in (!)",
    "a,b,c",
    "a, b",
    "a,b,",
    "in",
    "notin",
    "in=in",
    "in in (in)",
    "notin notin (notin)",
    "a notin",
    "()",
    "a)",
    "a(b)",
    "a in (b",
    "app in (web),tier in (1,3)",
    "app.kubernetes.io/name=x",
    "a=b=c",
    "a!b",
    "a!=",
    "e=",
    "e",
    "e!=",
    "e in (,x)",
    "tier>3,tier<5",
    "tier>-1",
    "tier>1.5",
    "tier>99999999999999999999",
    "app=web&labelSelector=app=db",
    "a!b=c",
    "!",
    "!!a",
    "! a",
    "a>b",
    "a<",
    "<",
    "app\t=\tweb",
    "a\n=b",
    "app in (  web  ,  db  )",
    "a in ('b')",
    '"a"=b',
    "*",
    "a=*",
)
_OF_FIELDS = (
    "metadata.name=c0",
    "metadata.name!=c0",
    "metadata.name==c0",
    "metadata.name=c0,metadata.namespace=dd",
    "metadata.namespace=dd",
    "metadata.namespace=x",
    "metadata.name=",
    "metadata.name",
    "metadata.name=c0,",
    "metadata.name=c0,,metadata.name=c1",
    "=c0",
    "spec.x=1",
    "metadata.labels=1",
    "metadata.name>c0",
    "metadata.name=c0=c1",
    "metadata.name=c\\,0",
    "metadata.name=c\\=0",
    "metadata.name=c\\0",
    "metadata.name=c0\\",
    "metadata.name in (c0)",
    "Metadata.name=c0",
    " metadata.name=c0",
    "metadata.name = c0",
    "metadata.name=c0 ",
    "!metadata.name",
    "metadata.name=c0&fieldSelector=metadata.name=c1",
    "metadata.name!=c0,metadata.name!=c1",
    "metadata.uid=x",
    "foo",
    "data.k=1",
    ",",
    "metadata.name=../x",
    "metadata.name=a/b",
)
_OF_PODS = [
    "spec.nodeName=",
    "spec.nodeName=n",
    "spec.nodeName!=n",
    "status.phase=Pending",
    "status.phase=Running",
    "spec.foo=1",
    "status.podIP=1.1.1.1",
    "status.podIPs=1",
    "spec.restartPolicy=Always",
    "spec.schedulerName=default-scheduler",
    "spec.serviceAccountName=default",
    "spec.hostNetwork=false",
    "spec.hostNetwork=true",
    "status.nominatedNodeName=",
    "metadata.name=p0",
    "spec.host=x",
]
# A collection and a selector of its fields.
_OF_KINDS = """
/api/v1/nodes spec.unschedulable=true
/api/v1/nodes spec.x=1
/api/v1/namespaces status.phase=Active
/api/v1/namespaces name=x
/api/v1/namespaces/dd/secrets type=x
/api/v1/namespaces/dd/events involvedObject.name=x
/api/v1/namespaces/dd/events reason=x,type=y,source=z
/api/v1/namespaces/dd/events foo=x
/apis/events.k8s.io/v1/namespaces/dd/events regarding.name=x
/apis/events.k8s.io/v1/namespaces/dd/events involvedObject.name=x
/apis/events.k8s.io/v1/namespaces/dd/events reason=x
/apis/apps/v1/namespaces/dd/deployments spec.x=y
/apis/apps/v1/namespaces/dd/replicasets status.replicas=0
/apis/batch/v1/namespaces/dd/jobs status.successful=0
/api/v1/namespaces/dd/replicationcontrollers status.replicas=1
/apis/resource.k8s.io/v1/resourceslices spec.nodeName=x
/apis/resource.k8s.io/v1/resourceslices spec.driver=x
/apis/resource.k8s.io/v1/resourceslices spec.pool.name=x
/apis/resource.k8s.io/v1/resourceslices spec.foo=x
/apis/resource.k8s.io/v1beta1/resourceslices spec.nodeName=x
/apis/resource.k8s.io/v1beta2/resourceslices spec.bad=x
/apis/resource.k8s.io/v1/namespaces/dd/resourceclaims spec.bad=x
/apis/resource.k8s.io/v1/deviceclasses spec.bad=x
/apis/coordination.k8s.io/v1/namespaces/dd/leases spec.holderIdentity=x
/apis/certificates.k8s.io/v1/certificatesigningrequests spec.signerName=x
/apis/storage.k8s.io/v1/storageclasses provisioner=x
/apis/rbac.authorization.k8s.io/v1/clusterroles a=b
/api/v1/namespaces/dd/services spec.clusterIP=x
/api/v1/namespaces/dd/services spec.type=x
/apis/networking.k8s.io/v1/ingressclasses x=y
/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas x=y
/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations x=y
/api/v1/persistentvolumes name=x
/api/v1/persistentvolumeclaims name=x
/api/v1/resourcequotas x=y
/apis/scheduling.k8s.io/v1/priorityclasses x=y
/apis/apiregistration.k8s.io/v1/apiservices spec.group=apps
/apis/apiextensions.k8s.io/v1/customresourcedefinitions x=y
/apis/policy/v1/poddisruptionbudgets x=y
/apis/discovery.k8s.io/v1/endpointslices x=y
/apis/node.k8s.io/v1/runtimeclasses x=y
/apis/autoscaling/v2/horizontalpodautoscalers x=y
/api/v1/componentstatuses x=y
"""
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def exchanges() -> Iterator[Object]:
    """Lists with each selector."""
    for selector in _OF_LABELS:
        yield exchange("selectors", "GET", f"{MAPS}?labelSelector={_quoted(selector)}")
    for selector in _OF_FIELDS:
        yield exchange("selectors", "GET", f"{MAPS}?fieldSelector={_quoted(selector)}")
    for selector in _OF_PODS:
        yield exchange("selectors", "GET", f"{NAMESPACE}/pods?fieldSelector={_quoted(selector)}", Accept=_METADATA)
    for collection, selector in map(str.split, _OF_KINDS.strip().splitlines()):
        yield exchange("selectors", "GET", f"{collection}?fieldSelector={_quoted(selector)}")


def _quoted(selector: str) -> str:
    return quote(selector, safe="=&")
