"""The CEL rules of custom resources (``x-kubernetes-validations``): in a definition, and on each write."""
