"""New objects of every kind, and what a real kube-apiserver makes of them: ``tests.vectors.defaulted``."""
