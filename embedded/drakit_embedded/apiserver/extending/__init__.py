"""Custom resources come and go with their definitions, while the server runs.

``definitions`` is the loop that kube-apiserver's controllers of CustomResourceDefinitions are together: it is woken by
the store, writes the conditions of each definition, and tells the catalog what to serve. ``names`` and ``verdicts`` are
its rules, ``cleanup`` deletes the objects of a definition that is being deleted. ``slice_patches`` brings the one
definition that a server makes by itself.
"""
