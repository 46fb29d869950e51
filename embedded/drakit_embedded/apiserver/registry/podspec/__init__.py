"""Pods, part by part: what is set, refused, kept and warned of, each module with one subject.

Apart from the other kinds because they are so many; ``registry.pods`` puts them together, and the templates of
workloads follow the same rules.

- ``pod_defaults``, ``internal_form``, ``image_names``: what is set, and how Kubernetes reads it;
- ``pod_rules``: what a new pod may say, by ``containers``, ``volume_rules``, ``affinity_rules``, ``placement_rules``,
  ``network_rules``, ``path_rules`` and ``mirror_pods``;
- ``pod_update_rules``, ``pod_status_rules``: what a write may change;
- ``pod_warnings``, ``node_label_warnings``: what is allowed and discouraged;
- ``pod_quality``, ``pod_references``: what others ask of a pod.
"""
