"""The table of kinds: everything that discovery, routing and storage need to know about each.

Kinds beyond those that drakit gives behaviour are there because real clients (kube-scheduler, kube-controller-manager,
kubectl) list and watch them at start: they are stored and served like any other, without rules of their own. Names are
those of k8s.io/kubernetes/api/discovery.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from drakit_embedded.apiserver.scheme.definitions import Definition


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind as served in one group; ``storage`` names its collection (two kinds may share one, as Events do)."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    storage: str = ""
    # The minor release that introduced the version of the kind; not served below it.
    since: int = 0
    # Of a custom resource: the names that its definition gives it, and all else that it says.
    singular_name: str = ""
    list_name: str = ""
    definition: Definition | None = None

    @property
    def singular(self) -> str:
        """The singular name, as discovery shows it."""
        return self.singular_name or self.kind.lower()

    @property
    def api_version(self) -> str:
        """``v1`` or ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        """The kind of its list."""
        return self.list_name or self.kind + "List"

    @property
    def stored_under(self) -> str:
        """Where etcd would have its objects, as far as that follows from the names."""
        return self.plural if self.definition is None else f"{self.group}/{self.plural}"

    @property
    def is_review(self) -> bool:
        """Whether objects of the kind are answered and never stored."""
        return self.definition is None and self.plural in REVIEWS

    @property
    def is_read_only(self) -> bool:
        """Whether its objects are the server's own."""
        return self.definition is None and self.plural in _READ_ONLY


# group/version: rows of `plural Kind scope [options]`; options are short=, cat=, sub= (subresources), store=, since=
# (after k8s.io/api/*/zz_generated.prerelease-lifecycle.go, for what is younger than the oldest emulated version).
_TABLE = """
v1
  bindings Binding namespaced
  componentstatuses ComponentStatus cluster short=cs
  configmaps ConfigMap namespaced short=cm
  endpoints Endpoints namespaced short=ep
  events Event namespaced short=ev
  limitranges LimitRange namespaced short=limits
  namespaces Namespace cluster short=ns sub=finalize,status
  nodes Node cluster short=no sub=status
  persistentvolumeclaims PersistentVolumeClaim namespaced short=pvc sub=status
  persistentvolumes PersistentVolume cluster short=pv sub=status
  pods Pod namespaced short=po cat=all sub=attach,binding,ephemeralcontainers,eviction,exec,log,portforward,status
  podtemplates PodTemplate namespaced
  replicationcontrollers ReplicationController namespaced short=rc cat=all sub=scale,status
  resourcequotas ResourceQuota namespaced short=quota sub=status
  secrets Secret namespaced
  serviceaccounts ServiceAccount namespaced short=sa sub=token
  services Service namespaced short=svc cat=all sub=status
apps/v1
  controllerrevisions ControllerRevision namespaced
  daemonsets DaemonSet namespaced short=ds cat=all sub=status
  deployments Deployment namespaced short=deploy cat=all sub=scale,status
  replicasets ReplicaSet namespaced short=rs cat=all sub=scale,status
  statefulsets StatefulSet namespaced short=sts cat=all sub=scale,status
events.k8s.io/v1
  events Event namespaced short=ev store=events
authentication.k8s.io/v1
  selfsubjectreviews SelfSubjectReview cluster
  tokenreviews TokenReview cluster
authorization.k8s.io/v1
  localsubjectaccessreviews LocalSubjectAccessReview namespaced
  selfsubjectaccessreviews SelfSubjectAccessReview cluster
  selfsubjectrulesreviews SelfSubjectRulesReview cluster
  subjectaccessreviews SubjectAccessReview cluster
autoscaling/v2
  horizontalpodautoscalers HorizontalPodAutoscaler namespaced short=hpa cat=all sub=status
batch/v1
  cronjobs CronJob namespaced short=cj cat=all sub=status
  jobs Job namespaced cat=all sub=status
certificates.k8s.io/v1
  certificatesigningrequests CertificateSigningRequest cluster short=csr sub=approval,status
  clustertrustbundles ClusterTrustBundle cluster since=37
  podcertificaterequests PodCertificateRequest namespaced sub=status since=37
networking.k8s.io/v1
  ingressclasses IngressClass cluster
  ingresses Ingress namespaced short=ing sub=status
  ipaddresses IPAddress cluster short=ip
  networkpolicies NetworkPolicy namespaced short=netpol
  servicecidrs ServiceCIDR cluster sub=status
policy/v1
  poddisruptionbudgets PodDisruptionBudget namespaced short=pdb sub=status
rbac.authorization.k8s.io/v1
  clusterrolebindings ClusterRoleBinding cluster
  clusterroles ClusterRole cluster
  rolebindings RoleBinding namespaced
  roles Role namespaced
storage.k8s.io/v1
  csidrivers CSIDriver cluster
  csinodes CSINode cluster sub=status
  csistoragecapacities CSIStorageCapacity namespaced
  storageclasses StorageClass cluster short=sc
  volumeattachments VolumeAttachment cluster sub=status
  volumeattributesclasses VolumeAttributesClass cluster short=vac
admissionregistration.k8s.io/v1
  mutatingadmissionpolicies MutatingAdmissionPolicy cluster cat=api-extensions since=36
  mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cluster cat=api-extensions since=36
  mutatingwebhookconfigurations MutatingWebhookConfiguration cluster cat=api-extensions
  validatingadmissionpolicies ValidatingAdmissionPolicy cluster cat=api-extensions sub=status
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster cat=api-extensions
  validatingwebhookconfigurations ValidatingWebhookConfiguration cluster cat=api-extensions
scheduling.k8s.io/v1
  priorityclasses PriorityClass cluster short=pc
coordination.k8s.io/v1
  leases Lease namespaced
node.k8s.io/v1
  runtimeclasses RuntimeClass cluster
discovery.k8s.io/v1
  endpointslices EndpointSlice namespaced
resource.k8s.io/v1
  deviceclasses DeviceClass cluster
  devicetaintrules DeviceTaintRule cluster sub=status since=37
  resourceclaims ResourceClaim namespaced sub=status
  resourceclaimtemplates ResourceClaimTemplate namespaced
  resourceslices ResourceSlice cluster
resource.k8s.io/v1alpha3
  resourcepoolstatusrequests ResourcePoolStatusRequest cluster sub=status since=36
flowcontrol.apiserver.k8s.io/v1
  flowschemas FlowSchema cluster sub=status
  prioritylevelconfigurations PriorityLevelConfiguration cluster sub=status
storagemigration.k8s.io/v1
  storageversionmigrations StorageVersionMigration cluster sub=status since=37
apiregistration.k8s.io/v1
  apiservices APIService cluster cat=api-extensions sub=status
apiextensions.k8s.io/v1
  customresourcedefinitions CustomResourceDefinition cluster short=crd,crds cat=api-extensions sub=status
"""
# Requests that are answered and never stored.
REVIEWS = frozenset(
    {
        "bindings",
        "localsubjectaccessreviews",
        "selfsubjectaccessreviews",
        "selfsubjectreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
        "tokenreviews",
    }
)
# Read by clients that want to know what is served; the server's own here: it aggregates no other server.
_READ_ONLY = frozenset({"apiservices", "componentstatuses"})
# Group, version and kind of subresources that are not of their parent's kind; the core group goes without a version.
SUBRESOURCE_KINDS = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "attach": ("", "", "PodAttachOptions"),
    "exec": ("", "", "PodExecOptions"),
    "portforward": ("", "", "PodPortForwardOptions"),
}


class GroupVersionKind(NamedTuple):
    """The type of an object, as the object itself and AdmissionReviews say it."""

    group: str
    version: str
    kind: str


def handled(kind: Kind, subresource: str) -> GroupVersionKind:
    """Find the type of what is sent to a kind or to a subresource of it: a Scale is one of ``autoscaling/v1``."""
    group, version, name = SUBRESOURCE_KINDS.get(subresource) or (kind.group, kind.version, kind.kind)
    return GroupVersionKind(group, version or kind.version, name)


@cache
def all_kinds() -> tuple[Kind, ...]:
    """List every kind in its preferred version, in the order of the table."""
    kinds: list[Kind] = []
    group = version = ""
    for line in _TABLE.splitlines():
        if line.startswith(" "):
            kinds.append(_row(group, version, line.split()))
        elif line:
            group, _, version = line.rpartition("/")
    return tuple(kinds)


def _row(group: str, version: str, words: list[str]) -> Kind:
    plural, kind, scope, *options = words
    given = dict(option.split("=") for option in options)
    several = {key: tuple(value.split(",")) for key, value in given.items()}
    return Kind(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced=scope == "namespaced",
        short_names=several.get("short", ()),
        categories=several.get("cat", ()),
        subresources=several.get("sub", ()),
        storage=given.get("store") or (f"{plural}.{group}" if group else plural),
        since=int(given.get("since", 0)),
    )
