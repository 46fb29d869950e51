"""Requests for certificates, and bundles of authorities: what may be asked for, approved, signed and trusted.

After k8s.io/kubernetes/pkg/apis/certificates/validation and pkg/registry/certificates. Who may do it is decided in
``admission.certificates``.
"""
