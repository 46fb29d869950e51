"""Does a write concern a configured webhook or policy?

Webhooks, policies and their bindings name the writes that they are for in the same terms, so there is one answer here:

- ``rules``: groups, versions, resources and operations, and the scope;
- ``selectors``: labels of the namespace and of the object;
- ``criteria``: all of these together, with ``matchPolicy``: in which of its versions the object is to be shown;
- ``conditions``: expressions that must be true of the write, which see it as ``requests``, ``shown`` and
  ``authorizations`` have it;
- ``configured``: the objects that configure hooks, compiled when they change, and by resource, so that a write that
  no hook is for looks up one empty tuple.

After k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and plugin/policy/matching.
"""
