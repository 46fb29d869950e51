"""The kinds of the Kubernetes API, before any rule about them: names, versions, fields and metadata.

- ``kinds``: the table of kinds with their versions, scopes and subresources; ``older_versions`` has those that a kind
  is served in besides, ``storage_versions`` the one that kube-apiserver stores, ``api_services`` the order of groups;
- ``structures``: the fields of each kind, by the Go types in ``structures.json``; ``empties`` drops what those omit;
- ``metadata``: what the server itself sets in it: times, UIDs and generated names;
- ``stored_only``: which kinds nothing in an embedded cluster acts on.

What k8s.io/apimachinery/pkg/runtime/scheme.go is to kube-apiserver.
"""
