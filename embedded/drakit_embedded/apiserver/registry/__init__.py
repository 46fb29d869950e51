"""What is served: the table of kinds, and for each kind the rules that make it more than a JSON document.

``kinds`` is the table. ``strategy`` says what a rule set is, and ``strategies`` has all; the other modules hold one
family of kinds each, after k8s.io/kubernetes/pkg/registry, where every kind has its ``strategy.go``.
"""
