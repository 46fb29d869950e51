"""What changes objects: create, update, patches, apply and delete, and the subresources that are verbs.

``writes`` has the steps of every write, in Kubernetes' order; the others make the object that is to be written.
"""
