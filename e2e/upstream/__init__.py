"""Kubernetes' own end-to-end tests against drakit's clusters: ``make e2e-upstream``.

Stories of ours say what we think Kubernetes does. These tests were written by those who wrote Kubernetes, are built
from its pinned Go module without a change, and are judged by ``expected.yaml`` and ``expected-api-machinery.yaml``:
lists of those that fail and why. A test that fails without being listed is an error, and so is one that passes although
it is.
"""
