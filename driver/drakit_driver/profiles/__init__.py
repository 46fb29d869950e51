"""What hardware to pretend to have: a name such as ``dgx-a100`` or ``tpu-v6e-4x4`` in, pools and classes out.

A profile is a file in this folder: a YAML file of a GPU, such as ``a30.yaml``, or of a machine of several, such as
``dgx-a100.yaml``; or a module with two functions, such as ``tpu.py``. There is no list of them: ``reading`` finds them,
and those of other distributions by their entry points. CONTRIBUTING.md has the recipe. A profile leaves as
``drakit_api.layouts.pools.Pool`` for the publisher, and as DeviceClass objects for the cluster.
"""
