"""Structural schemas: what a CustomResourceDefinition says about its objects, and what follows from it for a value.

- ``schema``: the levels of a schema;
- ``pruning``, ``defaulting``, ``embedded``: what becomes of an object that is read: unknown fields go, defaults come,
  resources inside of it are brought into order;
- ``values``: what is wrong with a value, by ``levels``, ``scalars``, ``numbers``, ``choices`` and ``string_formats``,
  in the words of ``faults``; ``lists``: what is repeated;
- ``correlation``: what a part of an object was before an update; ``same_values``: whether it has changed.

The checks are our own, as libraries such as jsonschema have neither Kubernetes' words nor its causes and their order.
"""
