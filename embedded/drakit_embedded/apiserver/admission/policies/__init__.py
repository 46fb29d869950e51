"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: what users' expressions say of a write.

- ``plugin``: the two steps of the chains; all else is loaded when there is a policy;
- ``bound``: policies and their bindings, by the resource that they are for; ``params``: what a binding gives a policy;
- ``programs``: the expressions of a policy, compiled once; ``scenes``: the values that they see of a write;
- ``validating`` with ``judgements``: a policy refuses, or warns; ``mutating`` with ``merges``: a policy changes;
- ``param_access``: who writes a policy or a binding must be able to read its params.

After k8s.io/apiserver/pkg/admission/plugin/policy and plugin/cel.
"""
