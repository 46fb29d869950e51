"""Makes malformed input by chance: definitions, objects, policies, webhooks and what these answer.

``stories`` is the door: it makes stories as ``tests.vectors.stories`` plays them, the same ones for the same seed. Each
is one of the recorded stories with damage done to it. ``damage`` does it to values (``trees``, with ``odd`` values and
the words of ``vocabulary``; ``expressions`` for CEL), ``requests`` to bodies and headers, and ``replies`` to what
webhooks answer.
"""
