"""Who asks: the users that a server knows, and how a request shows which of them it comes from.

After k8s.io/apiserver/pkg/authentication and pkg/endpoints/filters.
"""
