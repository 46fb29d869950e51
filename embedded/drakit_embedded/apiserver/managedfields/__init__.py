"""Who set which field: ``metadata.managedFields``, and server-side apply, which is decided by it.

After k8s.io/apimachinery/pkg/util/managedfields and sigs.k8s.io/structured-merge-diff/v6. The modules, each using only
those above it:

- ``elements``: one step of a path, as fieldsV1 writes it, orders it and messages show it;
- ``fieldsets``: sets of fields, which are trees of such steps;
- ``completion``: objects as their Go types show them, and whether two values are the same to them;
- ``shapes``: which values of a kind are leaves, and what identifies an item of a list; compiled from the Go types;
- ``comparisons``: which fields differ between two objects, and which fields an object has;
- ``merging``: an applied configuration put over an object, and fields taken out of one;
- ``versions``: the same object as the other API versions of its kind show it;
- ``entries``, ``managers``: the entries of ``metadata.managedFields``, and the names of those whom they belong to;
- ``updates``, ``scaling``: what a write other than apply does to the entries;
- ``reset_fields``: fields that a write does not change, whatever it says;
- ``typechecks``, ``conflicts``, ``lastapplied``: refusals of apply, and what kubectl needs of it besides;
- ``applies``: what applying does to an object and its entries.
"""
