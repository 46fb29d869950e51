"""StorageVersionMigrations: all objects of a resource are written anew, to be stored in its present version.

Follows k8s.io/kubernetes/pkg/controller/storageversionmigrator: three controllers that hand a migration on by its
status. Here ``controller`` begins one after the other for each resource and takes each on, ``rewriting`` is the
migration itself, and ``definitions`` tells the CustomResourceDefinition, which then forgets former storage versions.
"""
