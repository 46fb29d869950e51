"""Admission webhooks: programs that are asked before something is stored, and may refuse or change it.

- ``plugin``: what the chains call;
- ``hooks``: what a webhook configuration says, compiled;
- ``reviews``: the AdmissionReview that is sent; ``answers``: the one that comes back, read and checked;
- ``calling``: one call, and what it means if it fails;
- ``mutating``, ``validating``: who is called, in which order, and what becomes of the object.

Answers come through ``reruns``: a write that needs one is run again when it is there.

After k8s.io/apiserver/pkg/admission/plugin/webhook.
"""
