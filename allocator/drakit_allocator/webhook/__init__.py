"""An admission webhook that refuses ResourceSlicePatches whose selectors do not compile.

A schema can say nearly everything about a patch, but not whether an expression is one in CEL. Without the webhook such
a patch is stored, applies to no device, and gets an event that says why.

- ``reviews``: the judgement, an AdmissionReview in and one out;
- ``serving``: the HTTPS server around it;
- ``configuration``: how an API server gets to know it; ``deployment``: as a pod in a cluster, with all that it needs.
"""
