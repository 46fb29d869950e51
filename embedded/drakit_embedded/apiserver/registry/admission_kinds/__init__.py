"""What makes policies and webhook configurations valid: the six kinds of admissionregistration.k8s.io.

After k8s.io/kubernetes/pkg/apis/admissionregistration/validation and pkg/registry/admissionregistration. How they act
on writes is in ``drakit_embedded.apiserver.admission``.
"""
