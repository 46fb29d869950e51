"""From an HTTP request to its answer, after k8s.io/apiserver/pkg/endpoints.

In the order that a request takes:

- ``http``: one handler for all paths: who asks, whether they may, and errors as ``Status`` objects;
- ``metrics``: which requests there were, and how long they took;
- ``verbs``: the verb of a method and a path: get, list, watch, create, update, patch, delete;
- ``call``: one request for a resource, as the verbs see it: its path, its body, the form of its answer;
- ``apply_patches``: server-side apply;
- ``reviews``, ``token_requests``, ``pod_logs``: verbs that store nothing.
"""
