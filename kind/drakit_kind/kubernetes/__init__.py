"""Where real Kubernetes binaries come from: a directory that the user names, or a build from pinned Go modules.

In: a version, ``$DRAKIT_KUBERNETES_DIR`` or the modules in ``kind/kubernetes/<version>``. Out: paths of executables
(``assets.find_assets``). Nothing here starts a component.
"""
