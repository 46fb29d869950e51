"""Where real Kubernetes binaries come from: a directory of the user's, a build from Go modules, or a download.

In: a version, ``$DRAKIT_KUBERNETES_DIR``, the modules in ``kind/kubernetes/<version>`` or what projects publish. Out:
paths of executables (``assets.find_assets``). Nothing here starts a component.
"""
