"""How profiles are found and read: files of a folder (``folder``), what other distributions bring (``discovery``).

``profile`` is what a profile is, ``gpu_boards`` reads the YAML of a GPU, and ``layout_files`` an author's own layout.
"""
