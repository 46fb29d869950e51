"""What changes objects: create, update, patch and delete, and the subresources that are verbs.

- ``intent``: whose write it is, and how far it is to go; ``preconditions``: which object it is meant for;
- ``expressions``: CEL of a body, compiled before the write has its turn;
- ``patches``: the object that a patch makes of the stored one, by ``strategic`` and its ``merge_keys``, for one
  (JSON patch is in ``drakit_api.objects``); ``printed`` shows it in refusals;
- ``podverbs``, ``scales``: binding, eviction and scale, made to updates;
- ``writes``: the steps of every create and update, in Kubernetes' order; ``deletes``: those of every delete.

Server-side apply begins in ``endpoints.apply_patches`` and ends in ``writes``, too.
"""
