"""Operators as their authors write them: programs that know nothing of drakit, and run beside any cluster.

Both do the same for kinds of their own: whoever writes an object that wants GPUs gets a ResourceClaimTemplate for them.
"""
