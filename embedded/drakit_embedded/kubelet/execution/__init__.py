"""Commands in containers that are not there: executed here, on what the container would see; no program is run.

``view`` is the file system of one container: what its devices mount (``host_files``), and what its volumes hold
(``volumes``, ``stored_files``). ``programs`` and ``listing`` do what the commands do, ``scripts`` joins them as a shell
does, and ``commands`` connects one with its client's streams, perhaps through a ``terminal``.
"""
