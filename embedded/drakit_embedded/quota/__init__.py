"""What objects count for in a ResourceQuota: the same arithmetic for admission and for the quota controller.

An ``Evaluator`` knows one kind: which names in ``spec.hard`` it counts for (``count/pods``,
``gold.deviceclass.resource.k8s.io/devices``), how much of each an object uses, and which scopes it is in.

After k8s.io/kubernetes/pkg/quota/v1 and k8s.io/apiserver/pkg/quota/v1.
"""
