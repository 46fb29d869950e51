"""What the server knows: encoded objects and their history in memory, and the file that outlives the process.

- ``turns``: one write after the other;
- ``store``: the objects and their recent changes; ``limits`` refuses what etcd would not take; ``aging`` expires lists;
- ``journal``: the file behind them, and ``mark`` beside it, by which lost changes are missed;
- ``damage``, ``repair``: what is wrong with a file, and how it is made one that a server starts with.
"""
