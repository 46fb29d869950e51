"""Real nodes on this machine, as root: kubelet, containerd and runc, several nodes of several clusters side by side.

In: binaries, and how the API server is reached. Out: nodes that are Ready, and a machine that afterwards is as it was.
The second is the harder part, so most of what a node does to a machine does not reach it: each node has mounts of its
own (``namespaces``), which hide what containerd and the kubelet mount and the directories that they insist on. What is
left, control groups, one network interface and a few empty directories, is written down before it is done
(``leftovers``) and undone by whoever comes first: the cluster when it stops, a guard when it was killed, the next
cluster when the guard was killed too.
"""
