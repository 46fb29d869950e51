"""Defaults of all kinds, as Kubernetes' defaulting functions set them.

``defaults.json`` says what each function of k8s.io/kubernetes 1.37.1 (``pkg/apis/*/*/defaults.go`` and the markers of
``zz_generated.defaults.go``) does to its struct; ``api/schema/defaults`` translates it from the Go sources, and says
what its statements mean. ``statements`` makes functions of them, ``by_hand`` has the rules that are no plain
statements, and ``structs`` applies all of them to an object by its Go types.

Pods and resource.k8s.io are written too often for a table: ``podspec`` and ``drakit_api.objects.defaults`` have theirs
in Python. Tests compare both with this table, and the table with recorded answers of kube-apiserver.
"""
