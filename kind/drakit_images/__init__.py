"""Images of kind clusters made on this machine, for where there is no image registry; a source tree has this package.

In: binaries (``drakit_kind.kubernetes``), a Debian root, kind's own Go module, a Docker daemon. Out: a node image in
that daemon (``node_image``), and Python with its libraries as a layer of drakit's image (``debian``).

An installed drakit lacks it, so nothing in ``drakit_kind`` imports it: ``drakit_kind.kind.node_images.image_builder``
looks whether it is there, and says what it is asked for.
"""
