"""How objects come in and go out: bodies in JSON, YAML and protobuf, and answers in the form that a client takes.

- ``bodies`` reads what comes in, within ``budget``; ``yaml_bodies`` with ``yaml_nodes``, and ``protobuf`` have the
  other formats;
- ``negotiation`` finds the form of an answer, ``forms`` makes it, ``responses`` sends it with its ``headers`` and
  warnings; ``presentation`` with ``yaml_answers``, and ``protobuf_answers`` have the other formats;
- ``tables`` with ``columns``, ``access_columns``, ``admission_columns``, ``network_columns``, ``workload_columns``
  and ``selector_texts``: what ``kubectl get`` shows.
"""
