"""Who set which field: ``metadata.managedFields``, and server-side apply, which is decided by it.

After k8s.io/apimachinery/pkg/util/managedfields and sigs.k8s.io/structured-merge-diff/v6. The modules, each using only
those above it:

- ``elements``: one step of a path, as fieldsV1 writes it, orders it and messages show it;
- ``fieldsets``: sets of fields, which are trees of such steps;
- ``shapes``: which values of a kind are leaves, and what identifies an item of a list; compiled from the Go types;
- ``comparisons``: which fields differ between two objects, and which fields an object has;
- ``merging``: an applied configuration put over an object, and fields taken out of one;
- ``versions``: the same object as the other API versions of its kind show it;
- ``entries``: the entries of ``metadata.managedFields``;
- ``updates``, ``applies``: what a write does to the entries, and what applying does to the object;
- ``typechecks``, ``conflicts``, ``lastapplied``, ``scaling``: refusals, and what kubectl and Scale need besides.
"""
