"""The garbage collector: what nobody owns any more goes, and owners wait for what they own if asked to.

Follows k8s.io/kubernetes/pkg/controller/garbagecollector. ``monitors`` watch every kind that can be deleted and keep
the ``graph`` of owners and dependents, ``owners`` says whether an owner that the graph does not know exists, and
``collector`` decides and deletes.
"""
