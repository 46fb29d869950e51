"""What objects of ``core/v1`` and ``meta/v1`` mean, whoever asks: scheduler, allocator, driver, controllers or server.

``label_selectors``, ``node_selectors``, ``tolerations``: what is selected, and what is tolerated;
``pod_affinity``: the terms of a pod's affinity to other pods;
``containers``, ``pod_resources``: a pod's containers, and what they need together;
``pod_claims``: which ResourceClaim stands behind each entry of ``spec.resourceClaims``;
``conditions``: what the conditions in a status say.
"""
