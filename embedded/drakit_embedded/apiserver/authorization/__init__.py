"""May they? Requests in the form in which they are judged, and the authorizers that judge them: Node, then RBAC.

A request by a member of system:masters is not judged at all. ``authorizer`` asks the others in order; ``rbac`` reads
roles and bindings as they are stored (``rbac_rules`` compares what they allow), ``node`` what pods on a kubelet's node
refer to. ``bootstrap`` holds the roles that every cluster has. ``impersonation`` is asked first where somebody wants to
be somebody else; ``access`` is the form of a request that all of them see.

After k8s.io/apiserver/pkg/authorization and k8s.io/kubernetes/plugin/pkg/auth/authorizer.
"""
