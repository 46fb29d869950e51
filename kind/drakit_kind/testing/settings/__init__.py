"""What a user says of a test suite's clusters: options of pytest, environment variables, pytest's configuration file.

Each setting has one name, ``cluster-nodes``, in four spellings: the option ``--drakit-cluster-nodes``, the environment
variable ``DRAKIT_CLUSTER_NODES``, the entry ``drakit_cluster_nodes`` of pytest's configuration file, and the short
option ``--cluster-nodes``, which works where no other plugin and no conftest.py has an option of that name. The plugin
is loaded into every pytest of an environment, so it must not take a name that somebody else could want.
"""
