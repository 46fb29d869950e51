"""Admission: what a cluster, rather than a kind, says of a write by an authorized user.

A write passes two chains. The *mutating* one runs on the object as the client sent it, with defaults, before the rules
of its kind prepare and validate it; the *validating* one runs on the object as it would be stored. Either refuses by
raising ``StatusError``, and then nothing has changed. ``chain`` holds the plugins in kube-apiserver's order; each is a
module with a function of ``Attributes``, named after the plugin. ``claim_status_access`` is asked beside them, for what
a user may change of a ResourceClaim's status.

After k8s.io/apiserver/pkg/admission, and k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go for the order.
"""
