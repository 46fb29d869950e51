"""For each kind that is served the rules that make it more than a JSON document.

- ``catalog``: what is served: each kind of ``scheme`` with its rules and its collection in ``storage``;
- ``strategies``: the rules of all kinds; ``strategy`` says what such a set of rules consists of;
- ``conversion``, ``defaulting``: objects in other versions, and what they have where nothing is given;
- ``dra``, ``pool_status``: resource.k8s.io;
- ``pods`` with ``podspec``, and ``workloads`` with ``workload_rules`` and ``selector_rules``, whose templates follow
  the rules of pods;
- ``services``, ``volumes``, ``certificates``, ``quota_rules``, ``limit_range_rules``, ``cluster_kinds``: the others.

After k8s.io/kubernetes/pkg/registry, where every kind has its ``strategy.go``.
"""
