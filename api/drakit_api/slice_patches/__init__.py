"""ResourceSlicePatch: how administrators change what devices look like to the scheduler.

Kubernetes has no such kind: seed 002 proposed it, and DeviceTaintRule came instead. It is a CustomResourceDefinition in
a group of the project, so that every API server can serve it.

- ``manifest.yaml``: the definition, and roles for those who write, read and apply patches;
- ``definition``: that file as objects, and what a server would refuse of a patch by it;
- ``patch``: a patch as it is read, which of two wins, and what is a fault;
- ``merging``: slices as patches make them look, for whoever prints them. The scheduler merges in columns
  (``drakit_allocator.overlays``).
"""
