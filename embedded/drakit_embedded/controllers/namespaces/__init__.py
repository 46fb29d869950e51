"""Namespaces: what each gets when it begins (``controller``), and what must go before it ends.

``contents`` deletes what is in a namespace, ``conditions`` says in its status how far that has come.
"""
