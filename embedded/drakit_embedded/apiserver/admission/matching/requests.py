"""A write as webhooks and expressions see it: AdmissionRequest, without the objects.

After ``CreateV1AdmissionReview`` in k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go and
``CreateAdmissionRequest`` in pkg/admission/plugin/cel/condition.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.scheme.kinds import Kind, handled


def request(attributes: Attributes, kind: Kind) -> Object:
    """Describe a write to who is to see its object in a kind; every field is there, be it empty."""
    subresource = attributes.subresource
    return {
        "kind": _kind(kind, subresource),
        "resource": _resource(kind),
        "subResource": subresource,
        "requestKind": _kind(attributes.kind, subresource),
        "requestResource": _resource(attributes.kind),
        "requestSubResource": subresource,
        "name": attributes.name,
        "namespace": attributes.request_namespace,
        "operation": attributes.operation,
        "userInfo": _user(attributes.user),
        "dryRun": attributes.dry_run,
        "options": attributes.operation_options,
    }


def _kind(kind: Kind, subresource: str) -> Object:
    return handled(kind, subresource)._asdict()


def _resource(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def _user(user: User) -> Object:
    return {"username": "", "uid": "", "groups": [], "extra": {}, **user.info()}
