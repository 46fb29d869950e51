"""Conversion of custom resources by programs outside the cluster, as their definitions ask for it.

``registry.custom`` says when an object is to be converted; here is how: ``programs`` asks, ``reviews`` is what is sent,
``answers`` what is made of what comes back.
"""
