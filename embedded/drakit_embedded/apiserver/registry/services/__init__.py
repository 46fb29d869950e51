"""Services: what they are given (addresses and node ports), what they may say, and what a change of type takes away.

``allocation`` is asked before a Service is prepared and validated, as kube-apiserver does it: ``carried_over`` fills in
what a client left out, ``families`` the address families, ``addresses`` and ``node_ports`` the rest. ``service_rules``
and ``address_rules`` then say whether the result is valid.

After k8s.io/kubernetes/pkg/registry/core/service (strategy.go, storage/{storage,alloc}.go, ipallocator, portallocator).
"""
