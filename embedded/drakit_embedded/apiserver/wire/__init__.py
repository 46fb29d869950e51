"""How objects come in and go out: bodies in JSON, YAML and protobuf, and answers in the form that a client takes.

``bodies`` reads, ``negotiation`` finds the form of an answer, ``forms`` makes it; ``tables`` and the modules of columns
say what ``kubectl get`` shows.
"""
