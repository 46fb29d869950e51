"""The daemon set controller: one pod on each node that a daemon set is for.

Follows k8s.io/kubernetes/pkg/controller/daemon. Nodes, pods and daemon sets come in from the informers; ``node_fit``
says which nodes are meant, ``plans`` which pods are made and deleted for that and for a new template, ``history``
keeps the templates as ControllerRevisions, and ``controller`` does what they say and reports it.
"""

from __future__ import annotations

from drakit_embedded.controllers.daemonsets.controller import DaemonSetController as DaemonSetController
